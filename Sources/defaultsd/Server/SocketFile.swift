import DefaultsCore
import Glibc

/// The file of the socket that this agent has bound, which it removes and no other.
struct SocketFile {
    private let path: String
    private let device: dev_t
    private let number: ino_t

    /// Finds the file at a path; `nil` when there is none.
    init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        (device, number) = (status.st_dev, status.st_ino)
    }

    /// Removes the file, unless another is in its place now.
    func remove() {
        if isCurrent { unlink(path) }
    }

    /// Whether the file is still at its path.
    var isCurrent: Bool {
        SocketFile(at: path).map { ($0.device, $0.number) == (device, number) } ?? false
    }

    /// Makes a socket that listens at a path, for the user alone.
    static func listen(at path: String) throws(DefaultsError) -> (socket: Int32, file: SocketFile) {
        let socket = FileDescriptor(
            owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let number = socket.number
        guard number >= 0, UnixAddress(path: path)?.with({ Glibc.bind(number, $0, $1) }) == 0 else {
            throw failure(path, errno)
        }
        // The umask has kept others out from the beginning; for its user, a socket is nothing to be executed.
        chmod(path, 0o600)
        guard let file = SocketFile(at: path) else { throw failure(path, errno) }
        guard Glibc.listen(number, queueLength) == 0 else {
            let code = errno
            file.remove()
            throw failure(path, code)
        }
        return (socket.release(), file)
    }

    /// The number of clients that may wait to be let in.
    static let queueLength: Int32 = 1_024

    /// The error of a socket that can't be used.
    static func failure(_ path: String, _ number: Int32) -> DefaultsError {
        DefaultsError(.directory, errno: number, "Can't listen on the socket \(path)")
    }

    /// Removes a socket at which nobody listens any more.
    ///
    /// - Throws: `directory` when what is there is no socket, or a program listens at it.
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
        // Refused: its program has ended. Any other failure, as of a full queue, or of a socket of another kind, is a living
        // one's.
        guard result == -1, errno == ECONNREFUSED || errno == ENOENT else {
            throw DefaultsError(
                .directory, "Another program is listening on \(path). Stop it, or choose another socket with --socket.")
        }
        file.remove()
    }
}
