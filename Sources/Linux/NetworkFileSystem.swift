import CLinux
import Glibc

/// The file systems whose files other machines or servers can change without the kernel's knowledge, so that inotify
/// doesn't report every change.
package enum NetworkFileSystem {
    /// The usual names, by the number that `statfs` reports.
    ///
    /// The numbers come from `linux/magic.h` and from the file systems' sources.
    package static let names: [Int64: String] = [
        0x6969: "NFS",
        0x517B: "SMB",
        0xFF53_4D42: "CIFS",
        0xFE53_4D42: "SMB2",
        0x6573_5546: "FUSE",
        0x0102_1997: "9P",
        0x00C3_6400: "Ceph",
        0x5346_414F: "AFS",
        0x6B41_4653: "AFS",
        0x7375_7245: "Coda",
        0x0116_1970: "GFS2",
        0x7461_636F: "OCFS2",
        0x0BD0_0BD0: "Lustre",
        0x1983_0326: "BeeGFS",
        0x786F_4256: "VirtualBox's shared folders",
        0xBACB_ACBC: "VMware's shared folders",
    ]

    /// Returns whether a directory is on such a file system, where any access may wait for another machine or program.
    package static func contains(_ directory: String) -> Bool {
        guard let file = try? FileDescriptor(opening: directory, O_RDONLY | O_DIRECTORY) else { return false }
        return names[linux_file_system_type(file.number)] != nil
    }
}
