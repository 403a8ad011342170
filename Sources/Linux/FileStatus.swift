package import Glibc

/// The status of a file, as `stat` returns it.
package typealias FileStatus = stat

extension stat {
    /// Reads the status of the file at a path.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - followsLinks: Whether a symbolic link stands for its target.
    /// - Throws: The failure of the system call.
    package init(at path: UnsafePointer<CChar>, followsLinks: Bool = true) throws(SystemCall.Failure) {
        self.init()
        try SystemCall.run { fstatat(AT_FDCWD, path, &self, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) }
    }

    /// Reads the status of a file in an open directory, without following a symbolic link.
    ///
    /// - Throws: The failure of the system call.
    package init(at name: UnsafePointer<CChar>, below directory: Int32) throws(SystemCall.Failure) {
        self.init()
        try SystemCall.run { fstatat(directory, name, &self, AT_SYMLINK_NOFOLLOW) }
    }

    /// Reads the status of an open file.
    ///
    /// - Throws: The failure of the system call.
    package init(ofDescriptor number: Int32) throws(SystemCall.Failure) {
        self.init()
        try SystemCall.run { fstat(number, &self) }
    }

    /// Whether the file is a regular file.
    package var isRegular: Bool { st_mode & S_IFMT == S_IFREG }

    /// Whether the file is a directory.
    package var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }

    /// Whether the file is a symbolic link.
    package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }

    /// Whether the file is a socket.
    package var isSocket: Bool { st_mode & S_IFMT == S_IFSOCK }

    /// Whether the file belongs to this process's user.
    package var isOwn: Bool { st_uid == geteuid() }

    /// Whether the mode gives other users, or the group, any access.
    package var isOpenToOthers: Bool { st_mode & 0o077 != 0 }

    /// Returns whether a path doesn't lead to the file anymore; false if that can't be found out.
    package func hasLostName(_ path: String) -> Bool {
        do throws(SystemCall.Failure) {
            return try !isSame(as: stat(at: path, followsLinks: false))
        } catch {
            return [ENOENT, ENOTDIR, ELOOP].contains(error.number)
        }
    }

    /// Returns whether both are the status of one file, under the same name or another.
    package func isSame(as other: stat) -> Bool { st_ino == other.st_ino && st_dev == other.st_dev }
}
