import DefaultsCore
import Glibc
import Linux
import NIOCore

/// The file of the socket that this agent has bound: the only one that it removes.
struct SocketFile {
    private let path: String
    private let device: dev_t
    private let number: ino_t

    /// Finds the file at a path; `nil` if there is none.
    init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        (device, number) = (status.st_dev, status.st_ino)
    }

    /// Removes the file, unless another has replaced it.
    func remove() {
        if isCurrent { unlink(path) }
    }

    /// Whether the file is still at its path.
    var isCurrent: Bool {
        SocketFile(at: path).map { ($0.device, $0.number) == (device, number) } ?? false
    }

    /// Creates a socket that listens at a path, for the agent's user only.
    static func listen(at path: String) throws(DefaultsError) -> (socket: Int32, file: SocketFile) {
        let socket = FileDescriptor(
            owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let number = socket.number
        guard number >= 0, UnixAddress(path: path)?.with({ Glibc.bind(number, $0, $1) }) == 0 else {
            throw failure(path, errno)
        }
        // The umask has kept other users out from the beginning; the user needs no execute permission on a socket.
        chmod(path, 0o600)
        guard let file = SocketFile(at: path) else { throw failure(path, errno) }
        guard Glibc.listen(number, queueLength) == 0 else {
            let code = errno
            file.remove()
            throw failure(path, code)
        }
        return (socket.release(), file)
    }

    /// The number of clients that may wait to be accepted.
    static let queueLength: Int32 = 1_024

    /// Returns the error of a socket that can't be used.
    static func failure(_ path: String, _ number: Int32) -> DefaultsError {
        DefaultsError(.directory, errno: number, "Can't listen on the socket \(path)")
    }

    /// Removes a socket that no program listens on.
    ///
    /// - Throws: `directory` if the file is not a socket, or a program listens on it.
    static func clear(_ path: String) throws(DefaultsError) {
        var status = stat()
        guard let file = SocketFile(at: path), lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw DefaultsError(
                .directory, "\(path) exists and is not a socket. Move it, or choose another socket with --socket.")
        }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = FileDescriptor(owning: Glibc.socket(AF_UNIX, kind, 0))
        let number = socket.number
        let result = UnixAddress(path: path)?.with { connect(number, $0, $1) }
        // Refused: the program has exited. Any other failure, such as a full queue or a socket of another type, means
        // that a program is still running.
        guard result == -1, errno == ECONNREFUSED || errno == ENOENT else {
            throw DefaultsError(
                .directory, "Another program is listening on \(path). Stop it, or choose another socket with --socket.")
        }
        file.remove()
    }
}

/// A handler that pauses accepting for a second after a connection failed for lack of file descriptors.
///
/// NIO's `AcceptBackoffHandler` skips the next read, but leaves the socket registered: as long as a connection is
/// waiting, the loop would spin.
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
