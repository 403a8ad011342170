/// An access control list that grants the owner read and write access, and the group and the user "nobody" read access.
package enum AccessControlList {
    /// Whether the file system supports these lists and python3 is installed to set them.
    package static let isAvailable = (try? withTemporaryDirectory { try set("default", on: $0) }) != nil

    /// Sets the list on a file ("access"), or as the default for new entries of a directory ("default").
    package static func set(_ kind: String, on path: String) throws {
        try ForeignProcess.run(
            python: """
                import os, struct, sys
                entries = [(1, 6, -1), (2, 4, 65534), (4, 4, -1), (0x10, 4, -1), (0x20, 0, -1)]
                acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
                os.setxattr(sys.argv[1], "system.posix_acl_" + sys.argv[2], acl)
                """, [path, kind])
    }
}
