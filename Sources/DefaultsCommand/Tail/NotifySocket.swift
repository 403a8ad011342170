import DefaultsCore
import Glibc
import Linux

/// The receiving end of `sd_notify`: a datagram socket with an abstract name.
struct NotifySocket: ~Copyable {
    /// The value for `NOTIFY_SOCKET`.
    let name: String
    private let socket: FileDescriptor

    init() throws(Failure) {
        // The pid alone isn't unique: a process in another PID namespace may have the same one.
        name = "@defaults-tail/\(getpid())-\(UInt64.random(in: 0...(.max)))"
        do throws(SystemCall.Failure) { socket = try Self.bind(name) } catch {
            throw Failure("Can't wait for an agent: \(SystemCall.message(error.number)).", .unavailable)
        }
    }

    private static func bind(_ name: String) throws(SystemCall.Failure) -> FileDescriptor {
        guard let address = UnixAddress(notifySocket: name) else { throw SystemCall.Failure(number: ENAMETOOLONG) }
        let socket = try UnixSocket.open(SOCK_DGRAM)
        let number = socket.number
        try SystemCall.run { address.with { Glibc.bind(number, $0, $1) } }
        return socket
    }

    /// Waits for `READY=1`, and returns whether it arrived in time.
    func isReady(within milliseconds: Int32) throws(Failure) -> Bool {
        var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) == 1 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(socket.number, &buffer, buffer.count, 0)
        return count > 0 && String(decoding: buffer[..<count], as: UTF8.self).contains("READY=1")
    }
}
