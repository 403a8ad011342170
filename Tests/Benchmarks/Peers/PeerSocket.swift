import DefaultsCore
import Glibc
import TestSupport

/// A connection to a peer's server.
final class PeerSocket {
    let descriptor: Int32

    /// Connects to a socket, as soon as a program listens on it.
    convenience init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        try self.init(AF_UNIX, &address, path)
    }

    /// Connects to a port of this machine, as soon as a program listens on it.
    convenience init(port: UInt16) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        try self.init(AF_INET, &address, "port \(port)")
    }

    private init<Address>(_ family: Int32, _ address: inout Address, _ name: String) throws {
        descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let isConnected = withUnsafeBytes(of: &address) { bytes in
            eventually {
                connect(
                    descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
            }
        }
        guard isConnected else { throw BenchFailure("No program listens on \(name).") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw BenchFailure("A peer has closed its connection.") }
            sent += count
        }
    }

    /// Waits for bytes to arrive and returns them.
    func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { throw BenchFailure("A peer has closed its connection.") }
        return Array(buffer[..<count])
    }
}
