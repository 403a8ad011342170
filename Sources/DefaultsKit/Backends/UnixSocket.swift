import DefaultsCore
import Glibc

/// Connects to Unix sockets.
enum UnixSocket {
    /// Connects to an agent.
    ///
    /// - Returns: `nil` when nobody listens there.
    /// - Throws: when the socket can't be trusted, or can't be connected to for another reason.
    static func connect(to address: AgentAddress) throws(DefaultsError) -> FileDescriptor? {
        if access(address.socketPath, F_OK) != 0, errno == ENOENT { return nil }
        try address.checkOwner()
        do throws(SystemCall.Failure) {
            let number = try SystemCall.run {
                socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            }
            let descriptor = FileDescriptor(owning: number)
            try connect(descriptor, to: address.socketPath)
            // Whatever the directory looked like a moment ago: nobody else is told anything.
            guard SocketPeer(of: descriptor)?.isTrusted == true else { throw SystemCall.Failure(number: EPERM) }
            return descriptor
        } catch {
            if error.number == ECONNREFUSED || error.number == ENOENT { return nil }
            throw DefaultsError(
                .agentUnavailable, errno: error.number, "The agent's socket \(address.socketPath) can't be reached")
        }
    }

    private static func connect(_ socket: borrowing FileDescriptor, to path: String) throws(SystemCall.Failure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { place in
            // AgentAddress has checked that it fits, with a NUL after it.
            place.copyBytes(from: bytes.prefix(place.count - 1))
        }
        let number = socket.number
        try SystemCall.run {
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
    }
}
