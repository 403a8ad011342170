import DefaultsCore
import Glibc

/// Connects to Unix sockets.
enum UnixSocket {
    /// Connects to an agent.
    ///
    /// - Parameters:
    ///   - address: where it listens.
    ///   - patience: how long to wait for one that takes no connections, in milliseconds.
    /// - Returns: `nil` when nobody listens there, or, at an address that nobody named, nobody can whom to trust.
    /// - Throws: when a socket that someone named can't be trusted, or one can't be connected to for another reason.
    static func connect(
        to address: AgentAddress, patience: Int64 = 5_000
    ) throws(DefaultsError) -> FileDescriptor? {
        if address.problem != nil || access(address.socketPath, F_OK) != 0 && errno == ENOENT { return nil }
        do throws(DefaultsError) { try address.checkDirectory() } catch {
            // In the usual place it can only be in the way of an agent.
            if address.isExplicit { throw error }
            return nil
        }
        do throws(SystemCall.Failure) {
            let number = try SystemCall.run {
                socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            }
            let descriptor = FileDescriptor(owning: number)
            // An agent that takes no connections, since it is stopped, is waited for no longer.
            var limit = timeval(tv_sec: Int(patience / 1_000), tv_usec: Int(max(1, patience % 1_000) * 1_000))
            setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            // AgentAddress has checked that the path fits.
            guard let path = UnixAddress(path: address.socketPath) else { return nil }
            try SystemCall.run { path.with { Glibc.connect(number, $0, $1) } }
            // Whatever the directory looked like a moment ago: nobody else is told anything.
            guard SocketPeer(of: descriptor)?.isTrusted == true else { throw SystemCall.Failure(number: EPERM) }
            return descriptor
        } catch {
            if error.number == ECONNREFUSED || error.number == ENOENT { return nil }
            throw DefaultsError(
                .agentUnavailable, errno: error.number, "The agent's socket \(address.socketPath) can't be reached")
        }
    }
}
