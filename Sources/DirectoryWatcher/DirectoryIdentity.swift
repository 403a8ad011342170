internal import CLinux
internal import Glibc

/// Which directory a path leads to, however it is spelled.
///
/// The inode alone isn't enough: ext4 gives the number of a deleted directory to the next one that is made, and a file
/// system mounted over the directory changes nothing of it. The first shows as the end of the watch (`IN_IGNORED`), the
/// second in the mount's number.
struct DirectoryIdentity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
    /// The mount's number, or 0 where the kernel doesn't tell (before 5.8).
    var mount: UInt64
}

/// Who may write to a directory, as far as its owner and mode tell.
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

/// A directory held open for as long as this value lives.
struct OpenDirectory: ~Copyable {
    let descriptor: Int32
    let identity: DirectoryIdentity

    /// Opens a directory, following links.
    ///
    /// The call opens for reading, and not merely for its place (`O_PATH`): a directory that can't be read can't be
    /// watched either, and is reported so.
    ///
    /// - Throws: The error number.
    init(_ path: String) throws(ErrorNumber) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw ErrorNumber(code: errno) }
        var information = stat()
        guard fstat(descriptor, &information) == 0 else {
            let code = errno
            close(descriptor)
            throw ErrorNumber(code: code)
        }
        self.descriptor = descriptor
        self.identity = DirectoryIdentity(
            device: UInt64(information.st_dev), inode: UInt64(information.st_ino), mount: linux_mount_id(descriptor))
    }

    deinit { close(descriptor) }

    /// The magic number of the directory's file system.
    var fileSystem: Int64 { linux_file_system_type(descriptor) }
}

/// Opens a directory to be listed, from its beginning, and to be closed with `closedir`.
///
/// - Throws: The error number.
func openListing(_ path: String, below parent: Int32) throws(ErrorNumber) -> OpaquePointer {
    let descriptor = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw ErrorNumber(code: errno) }
    guard let stream = fdopendir(descriptor) else {
        let code = errno
        close(descriptor)
        throw ErrorNumber(code: code)
    }
    return stream
}

/// An error number of the system, as an error.
struct ErrorNumber: Error {
    let code: Int32
}
