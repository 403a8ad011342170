import CLinux
import Glibc
package import Linux

/// The owner and the mode of files and directories that are created.
///
/// They are accessible only to the user. Those that root creates belong to the owner of their directory, who otherwise
/// couldn't use them. In a system directory, everyone may read them.
package enum NewFile {
    /// Creates a file that must not exist yet.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - flags: The access mode for `open`.
    ///   - isForEveryone: Whether the file is meant for all users if it is in a system directory.
    /// - Returns: The open file.
    /// - Throws: The failure of the system call; `EEXIST` if something is at the path.
    static func create(
        _ path: String, flags: Int32, isForEveryone: Bool = false
    ) throws(SystemCall.Failure) -> FileDescriptor {
        let flags = flags | O_CREAT | O_EXCL
        let file =
            try isInForeignDirectory(path)
            ? createForOwner(path, flags: flags) : FileDescriptor(opening: path, flags, mode: 0o600)
        if isForEveryone, isInSystemDirectory(path), fchmod(file.number, 0o644) != 0 {
            let failure = SystemCall.Failure(number: errno)
            unlink(path)
            throw failure
        }
        return file
    }

    /// Creates a directory, unless there is one.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - mode: The mode, limited by the parent's default list or else the umask; by default, for the user alone.
    /// - Throws: The failure of the system call.
    package static func makeDirectory(_ path: String, mode: UInt32 = 0o700) throws(SystemCall.Failure) {
        if try isInForeignDirectory(path) { return try makeDirectoryForOwner(path, mode: mode) }
        if mkdir(path, mode) != 0 {
            if errno == EEXIST { return }
            throw SystemCall.Failure(number: errno)
        }
        if isInSystemDirectory(path) { chmod(path, 0o755) }
    }

    /// Replaces a file with a durable version; its name is durable once the directory has been synchronized.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - parent: The open directory that relative paths are relative to; by default, the working directory.
    ///   - bytes: The new contents.
    ///   - mode: The mode, limited by the directory's default list or else the umask; by default, for the user alone.
    ///   - temporary: The path of the version until it is complete, which a crash may leave behind; by default, the
    ///     path of the file with ".new".
    ///   - copy: The path to which the old version is moved first; `nil` to remove it.
    /// - Throws: The failure of the system call.
    package static func replace(
        _ path: String, below parent: Int32 = AT_FDCWD, with bytes: [UInt8], mode: UInt32 = 0o600,
        through temporary: String? = nil, movingTo copy: String? = nil
    ) throws(SystemCall.Failure) {
        let temporary = temporary ?? "\(path).new"
        unlinkat(parent, temporary, 0)
        do throws(SystemCall.Failure) {
            let file = FileDescriptor(
                owning: try SystemCall.run {
                    openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
                })
            try file.write(bytes)
            try file.synchronize()
            if let copy { try SystemCall.run { renameat(parent, path, parent, copy) } }
            try SystemCall.run { renameat(parent, temporary, parent, path) }
        } catch {
            unlinkat(parent, temporary, 0)
            throw error
        }
    }

    /// Returns whether a directory is for others: it has a default list, or what is created there gets its group, which
    /// may write to it.
    ///
    /// There, the list or the umask decides who may read a new file. One that can't be examined counts as private.
    package static func isForOthers(inDirectory path: UnsafePointer<CChar>) -> Bool {
        do throws(SystemCall.Failure) {
            let directory = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
            let listSize = linux_attribute(directory.number, "system.posix_acl_default", nil, 0)
            let mode = try directory.status().st_mode
            // Set-group-ID, and writable for the group.
            return listSize > 0 || mode & 0o2020 == 0o2020
        } catch {
            return false
        }
    }

    private static func createForOwner(
        _ path: String, flags: Int32
    ) throws(SystemCall.Failure) -> FileDescriptor {
        let parent = try parent(of: path)
        let name = Path.lastName(of: path)
        let file = FileDescriptor(
            owning: try SystemCall.run { openat(parent.number, name, flags | O_CLOEXEC, 0o600) })
        do throws(SystemCall.Failure) { try give(file, toOwnerOf: parent) } catch {
            unlinkat(parent.number, name, 0)
            throw error
        }
        return file
    }

    private static func makeDirectoryForOwner(_ path: String, mode: UInt32) throws(SystemCall.Failure) {
        let parent = try parent(of: path)
        let name = Path.lastName(of: path)
        if mkdirat(parent.number, name, mode) != 0 {
            if errno == EEXIST { return }
            throw SystemCall.Failure(number: errno)
        }
        do throws(SystemCall.Failure) {
            let directory = FileDescriptor(
                owning: try SystemCall.run {
                    openat(parent.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                })
            try give(directory, toOwnerOf: parent)
        } catch {
            unlinkat(parent.number, name, AT_REMOVEDIR)
            throw error
        }
    }

    /// Returns whether root works in a directory of another user.
    private static func isInForeignDirectory(_ path: String) throws(SystemCall.Failure) -> Bool {
        guard geteuid() == 0 else { return false }
        return try !FileStatus(at: Path.directory(of: path)).isOwn
    }

    /// Returns whether a file or directory that is created at a path will belong to this user.
    ///
    /// Missing directories on the path are created, too.
    static func willBeOwn(_ path: String) -> Bool {
        var (status, path) = (stat(), Path.directory(of: path))
        while stat(path, &status) != 0, errno == ENOENT, path != Path.directory(of: path) {
            path = Path.directory(of: path)
        }
        return geteuid() != 0 || status.st_uid == 0
    }

    /// Opens the directory of a new file once, since others may replace a directory on its path at any time.
    private static func parent(of path: String) throws(SystemCall.Failure) -> FileDescriptor {
        FileDescriptor(owning: try SystemCall.run { linux_open_status(Path.directory(of: path)) })
    }

    /// Gives what root has just created to the owner of the directory that contains it.
    private static func give(
        _ file: borrowing FileDescriptor, toOwnerOf parent: borrowing FileDescriptor
    ) throws(SystemCall.Failure) {
        let directory = try parent.status()
        guard try file.status().st_uid == 0, directory.st_uid != 0 else { return }
        try SystemCall.run { fchown(file.number, directory.st_uid, directory.st_gid) }
    }

    /// Returns whether a path is a system directory's, or inside one, and root works there.
    private static func isInSystemDirectory(_ path: String) -> Bool {
        geteuid() == 0
            && SystemDirectories(environment: .current).paths.contains { "\(path)/".utf8.starts(with: "\($0)/".utf8) }
    }
}
