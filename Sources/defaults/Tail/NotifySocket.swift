import DefaultsCore
import Glibc

/// The receiving end of `sd_notify`: a datagram socket with an abstract name.
struct NotifySocket: ~Copyable {
    /// What `NOTIFY_SOCKET` is to be.
    let name: String
    private let socket: FileDescriptor

    init() throws(Failure) {
        name = "@defaults-tail/\(getpid())"
        socket = FileDescriptor(owning: Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = [0] + Array(name.utf8.dropFirst())
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let number = socket.number
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
        }
        guard bound == 0 else {
            throw Failure("An agent can't be waited for: \(SystemCall.message(errno)).", .unavailable)
        }
    }

    /// Whether `READY=1` has come, or comes within some milliseconds.
    func isReady(within milliseconds: Int32) throws(Failure) -> Bool {
        var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) == 1 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(socket.number, &buffer, buffer.count, 0)
        return count > 0 && String(decoding: buffer[..<count], as: UTF8.self).contains("READY=1")
    }
}
