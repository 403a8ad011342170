package import Glibc

/// The creation of Unix sockets, which programs that this process starts don't inherit.
package enum UnixSocket {
    /// Creates a socket: `SOCK_STREAM` or `SOCK_DGRAM`, possibly with other flags.
    package static func open(_ type: __socket_type, flags: Int32 = 0) throws(SystemCall.Failure) -> FileDescriptor {
        FileDescriptor(
            owning: try SystemCall.run {
                socket(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue) | flags, 0)
            })
    }

    /// Connects to the program that is listening at a path.
    ///
    /// - Parameters:
    ///   - path: The path of the socket's file.
    ///   - timeout: The time in milliseconds to wait for a program that accepts no connections; 0 if it isn't waited
    ///     for, and the socket is non-blocking.
    /// - Returns: The socket.
    /// - Throws: ECONNREFUSED or ENOENT if no program is listening there; EAGAIN if it accepts none.
    package static func connect(to path: String, timeout: Int64 = 0) throws(SystemCall.Failure) -> FileDescriptor {
        guard let address = UnixAddress(path: path) else { throw SystemCall.Failure(number: ENAMETOOLONG) }
        let socket = try open(SOCK_STREAM, flags: timeout > 0 ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        let number = socket.number
        if timeout > 0 {
            var limit = timeval(tv_sec: Int(timeout / 1_000), tv_usec: Int(timeout % 1_000 * 1_000))
            setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        try SystemCall.run { address.with { Glibc.connect(number, $0, $1) } }
        return socket
    }
}
