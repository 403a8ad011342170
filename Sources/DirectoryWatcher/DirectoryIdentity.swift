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

    /// The name of the directory's file system, if it is one whose changes by other machines, or behind the kernel's
    /// back, don't come as inotify events.
    var unreportingFileSystem: String? {
        switch linux_file_system_type(descriptor) {
        case 0x6969: "NFS"
        case 0x517B: "SMB"
        case 0xFF53_4D42: "CIFS"
        case 0xFE53_4D42: "SMB2"
        case 0x6573_5546: "FUSE"
        case 0x0102_1997: "9P"
        case 0x00C3_6400: "Ceph"
        case 0x5346_414F: "AFS"
        case 0x6B41_4653: "AFS"
        case 0x7375_7245: "Coda"
        case 0x0116_1970: "GFS2"
        case 0x7461_636F: "OCFS2"
        case 0x0BD0_0BD0: "Lustre"
        case 0x1983_0326: "FhGFS/BeeGFS"
        case 0x786F_4256: "VirtualBox's shared folders"
        case 0xBACB_ACBC: "VMware's shared folders"
        default: nil
        }
    }
}

/// An error number of the system, as an error.
struct ErrorNumber: Error {
    let code: Int32
}
