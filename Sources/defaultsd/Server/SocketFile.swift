import DefaultsCore
import Glibc
import Linux
import NIOCore

/// The file of the socket that this agent has bound.
struct SocketFile {
    private let path: String
    private let status: FileStatus

    /// Reads the status of the file at a path; fails if there is no file, or its status can't be read.
    init?(at path: String) {
        guard let status = try? FileStatus(at: path, followsLinks: false) else { return nil }
        (self.path, self.status) = (path, status)
    }

    /// Removes the file, unless another file has replaced it.
    func remove() {
        if SocketFile(at: path)?.status.isSame(as: status) == true { unlink(path) }
    }

    /// Whether the file is still at its path, as far as that can be found out.
    var isCurrent: Bool { !status.hasLostName(path) }

    /// Creates a listening socket at a path, accessible only to the agent's user.
    static func listen(at path: String) throws(DefaultsError) -> (socket: Int32, file: SocketFile) {
        let socket: Linux.FileDescriptor
        do throws(SystemCall.Failure) { socket = try UnixSocket.open(SOCK_STREAM) } catch {
            throw failure(at: path, errno: error.number)
        }
        let number = socket.number
        guard UnixAddress(path: path)?.with({ Glibc.bind(number, $0, $1) }) == 0
        else { throw failure(at: path, errno: errno) }
        // The umask already keeps other users out; this only removes the user's needless execute permission.
        chmod(path, 0o600)
        guard let file = SocketFile(at: path) else { throw failure(at: path, errno: errno) }
        guard Glibc.listen(number, queueLength) == 0 else {
            let code = errno
            file.remove()
            throw failure(at: path, errno: code)
        }
        return (socket.release(), file)
    }

    /// The maximum number of clients waiting to be accepted.
    static let queueLength: Int32 = 1_024

    /// Returns the error for a socket that can't be used.
    static func failure(at path: String, errno number: Int32) -> DefaultsError {
        DefaultsError(.directory, errno: number, "Can't listen on the socket \(path)")
    }

    /// Removes the file of a socket on which no program is listening.
    ///
    /// - Throws: `directory` if the file isn't a socket, or a program is listening on it.
    static func clear(_ path: String) throws(DefaultsError) {
        guard let file = SocketFile(at: path) else { return }
        guard file.status.isSocket else {
            throw DefaultsError(
                .directory,
                "\(path) exists and is not a socket.",
                remedy: "Move it, or choose another socket with --socket.")
        }
        if isServiceManaged(path) {
            throw DefaultsError(
                .agentRefused,
                "A service manager listens on \(path), and starts an agent when a program needs one. For its status, "
                    + "run `systemctl --user status defaultsd.socket`.")
        }
        if isInUse(path) {
            throw DefaultsError(
                .directory,
                "Another program is listening on \(path).",
                remedy: "Stop it, or choose another socket with --socket.")
        }
        file.remove()
    }

    /// Returns whether a service manager is listening on the socket at a path.
    ///
    /// systemd replaces the file of a running agent's socket when it starts a socket unit.
    static func isServiceManaged(_ path: String) -> Bool {
        do throws(SystemCall.Failure) {
            return SocketPeer(of: try UnixSocket.connect(to: path))?.isServiceManager == true
        } catch {
            return false
        }
    }

    /// Returns whether a program is listening on the socket at a path.
    static func isInUse(_ path: String) -> Bool {
        do throws(SystemCall.Failure) {
            _ = try UnixSocket.connect(to: path)
            return true
        } catch {
            // ECONNREFUSED means that the program has exited. Any other failure, such as a full queue or a socket of
            // another type, means that a program is still running.
            return error.number != ECONNREFUSED && error.number != ENOENT
        }
    }
}

/// A handler that stops accepting for a second after a connection has failed for lack of file descriptors.
///
/// NIO's `AcceptBackoffHandler` skips the next read but leaves the socket registered, so the loop would spin as long as
/// a connection is waiting.
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        channel.setOption(.autoRead, value: false).whenFailure { _ in }
        context.eventLoop.scheduleTask(in: .seconds(1)) {
            channel.setOption(.autoRead, value: true).whenFailure { _ in }
        }
        context.fireErrorCaught(error)
    }
}
