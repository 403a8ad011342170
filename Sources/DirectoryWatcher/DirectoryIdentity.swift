internal import CLinux
internal import Glibc
internal import Linux

/// The identity of the directory that a path leads to, however the path is spelled.
///
/// The inode number alone isn't enough. On ext4, the next directory created reuses the number of a deleted one, and
/// mounting a file system over the directory may not change the number. The first case shows as the end of the watch
/// (`IN_IGNORED`), the second as a different mount number.
struct DirectoryIdentity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
    /// The mount's number, or 0 if the kernel doesn't report it (before 5.8).
    var mount: UInt64
}

/// The owner, group and mode of a directory, which determine who may write to it.
struct DirectoryPermissions: Hashable, Sendable {
    var owner: UInt32
    var group: UInt32
    var mode: UInt32

    init(_ information: stat) {
        owner = information.st_uid
        group = information.st_gid
        mode = information.st_mode
    }
}

/// A directory, or a file, that stays open for the lifetime of this value.
struct OpenPath: ~Copyable {
    private let file: FileDescriptor
    let identity: DirectoryIdentity

    /// Opens a directory, following links.
    ///
    /// The directory is opened for reading instead of with `O_PATH`, so that a directory that can't be read, and so
    /// can't be watched either, is reported as such.
    ///
    /// - Throws: The error number.
    init(_ path: String) throws(SystemCall.Failure) {
        try self.init(path, flags: O_RDONLY | O_DIRECTORY | O_NONBLOCK)
    }

    /// Opens a file, not following links, only for watching it.
    ///
    /// - Throws: The error number.
    init(file path: String) throws(SystemCall.Failure) {
        try self.init(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    }

    private init(_ path: String, flags: Int32) throws(SystemCall.Failure) {
        let file = try FileDescriptor(opening: path, flags)
        let status = try file.status()
        identity = DirectoryIdentity(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), mount: linux_mount_id(file.number))
        self.file = file
    }

    /// The descriptor, which stays open for the lifetime of this value.
    var descriptor: Int32 { file.number }

    /// The magic number of the file system.
    var fileSystem: Int64 { linux_file_system_type(descriptor) }
}
