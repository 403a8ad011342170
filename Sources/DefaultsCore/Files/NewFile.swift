import Glibc
import Linux

/// The owner and the mode of files and directories that are created.
///
/// They are accessible only to the user. What root creates belongs to the owner of the directory that contains it, who
/// otherwise couldn't use it, and in a system directory, everyone may read it.
enum NewFile {
    /// Creates a file that must not exist yet.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - flags: The access mode for `open`.
    ///   - isForEveryone: Whether the file is meant for all users if it is in a system directory.
    /// - Returns: The open file.
    /// - Throws: The failure of the system call; `EEXIST` if something is at the path.
    static func create(
        _ path: String, _ flags: Int32, isForEveryone: Bool = false
    ) throws(SystemCall.Failure) -> FileDescriptor {
        let file = try FileDescriptor(opening: path, flags | O_CREAT | O_EXCL, mode: 0o600)
        do throws(SystemCall.Failure) {
            try give(file, toOwnerOfDirectoryOf: path)
            if isForEveryone, isInSystemDirectory(path) { try SystemCall.run { fchmod(file.number, 0o644) } }
        } catch {
            unlink(path)
            throw error
        }
        return file
    }

    /// Creates a directory, unless there is one.
    static func makeDirectory(_ path: String) throws(SystemCall.Failure) {
        if mkdir(path, 0o700) != 0 {
            if errno == EEXIST { return }
            throw SystemCall.Failure(number: errno)
        }
        let directory = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        try give(directory, toOwnerOfDirectoryOf: path)
        if isInSystemDirectory(path) { try SystemCall.run { fchmod(directory.number, 0o755) } }
    }

    /// Gives what root has just created to the owner of the directory that contains it.
    private static func give(
        _ file: borrowing FileDescriptor, toOwnerOfDirectoryOf path: String
    ) throws(SystemCall.Failure) {
        guard geteuid() == 0, try file.status().st_uid == 0 else { return }
        var directory = stat()
        try SystemCall.run { stat(Path.directory(of: path), &directory) }
        if directory.st_uid == 0 { return }
        try SystemCall.run { fchown(file.number, directory.st_uid, directory.st_gid) }
    }

    /// Returns whether a path is a system directory's or inside one, and root works there.
    private static func isInSystemDirectory(_ path: String) -> Bool {
        geteuid() == 0
            && SystemDirectories(environment: .current).paths.contains { "\(path)/".utf8.starts(with: "\($0)/".utf8) }
    }
}
