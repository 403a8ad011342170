import DefaultsCore
import Glibc
import Linux

/// The listening socket that a service manager has opened for the agent (`man 3 sd_listen_fds`).
///
/// The service manager keeps the socket and its file while no agent is running. The first client that connects starts
/// an agent, and all clients wait until it is ready.
struct InheritedSocket: Sendable {
    /// The descriptor, which stays open for as long as the agent runs.
    let number: Int32
    /// The path of the socket's file.
    let path: String

    /// The descriptor of the first inherited socket (`SD_LISTEN_FDS_START`).
    private static let first: Int32 = 3

    /// Finds the socket named by `LISTEN_PID` and `LISTEN_FDS`; fails if there is none for this process.
    ///
    /// - Throws: A `DefaultsError` if the service manager passed anything but one listening Unix stream socket with a
    ///   file.
    init?(_ environment: Environment) throws(DefaultsError) {
        guard environment["LISTEN_PID"] == "\(getpid())", let count = environment["LISTEN_FDS"].flatMap({ Int($0) }),
            count > 0
        else { return nil }
        guard count == 1 else { throw Self.unsuitable("passed \(count) sockets") }
        number = Self.first
        guard Self.option(SO_DOMAIN, of: number) == AF_UNIX,
            Self.option(SO_TYPE, of: number) == Int32(SOCK_STREAM.rawValue),
            Self.option(SO_ACCEPTCONN, of: number) == 1
        else { throw Self.unsuitable("passed no listening Unix stream socket") }
        guard let path = UnixAddress(of: number)?.path else { throw Self.unsuitable("passed a socket without a file") }
        // The directory that it is relative to is unknown.
        guard Path.isAbsolute(path) else { throw Self.unsuitable("passed a socket with the relative path \(path)") }
        self.path = path
        setInheritance(false)
    }

    /// Sets whether the descriptor stays open when another program replaces this one.
    func setInheritance(_ isInherited: Bool) {
        _ = fcntl(number, F_SETFD, isInherited ? 0 : FD_CLOEXEC)
    }

    /// Returns a duplicate of the descriptor, which the caller owns.
    func duplicate() throws(DefaultsError) -> Int32 {
        do throws(SystemCall.Failure) {
            return try SystemCall.run { fcntl(number, F_DUPFD_CLOEXEC, 0) }
        } catch {
            throw SocketFile.failure(at: path, errno: error.number)
        }
    }

    private static func option(_ name: Int32, of socket: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(socket, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }

    private static func unsuitable(_ what: String) -> DefaultsError {
        DefaultsError(
            .directory,
            "The service manager \(what), but the agent needs one Unix stream socket.",
            remedy: "In its socket unit, set one ListenStream= to an absolute path.")
    }
}
