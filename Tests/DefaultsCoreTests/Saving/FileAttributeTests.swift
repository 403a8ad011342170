import CLinux
import Glibc
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// Saving a file must not change who may read it.
@Suite("Owners, modes and ACLs of saved files", .enabled(if: AccessControlList.isAvailable))
struct FileAttributeTests {
    private static let new = Array("{ a = new; }".utf8)

    private static func attributes(of path: String) throws -> String {
        try ForeignProcess.run(
            python: """
                import os, sys
                names = [n for n in sorted(os.listxattr(sys.argv[1])) if "defaultsd" not in n]
                print({n: os.getxattr(sys.argv[1], n) for n in names})
                """, [path])
    }

    private static func publish(_ path: String) throws {
        let file = DomainFile(path: path, limits: PropertyListLimits())
        let expected: FileVersion? =
            if case .contents(let contents) = file.read(known: nil) { contents.version } else { nil }
        #expect(try file.save(new, expecting: expected).isDone)
        #expect(try RawFile.read(path) == new)
    }

    /// Runs a test on a file that holds an old version, in its own directory.
    private static func withFile(_ body: (_ directory: String, _ path: String) throws -> Void) throws {
        try withTemporaryDirectory { root in
            chmod(root, 0o755)
            try RawFile.makeDirectory(root + "/d")
            try RawFile.write("{ a = old; }", to: root + "/d/a.plist")
            try body(root + "/d", root + "/d/a.plist")
        }
    }

    @Test("Saving a file keeps its ACL and other extended attributes")
    func kept() throws {
        try Self.withFile { _, path in
            try AccessControlList.set("access", on: path)
            try ForeignProcess.run(python: "import os, sys; os.setxattr(sys.argv[1], 'user.note', b'x')", [path])
            let before = try Self.attributes(of: path)
            #expect(before.contains("posix_acl_access") && before.contains("user.note"))
            try Self.publish(path)
            #expect(try Self.attributes(of: path) == before)
            #expect(try RawFile.status(path).st_mode & 0o7777 == 0o640)
        }
    }

    @Test("A copied ACL is narrowed to the rights that the new file may grant", arguments: [0, 4, 6])
    func narrowed(mask: UInt32) throws {
        try Self.withFile { directory, path in
            try AccessControlList.set("access", on: path)
            let new = directory + "/new"
            try RawFile.write("", to: new)
            let (from, to) = (open(path, O_RDONLY), open(new, O_WRONLY))
            defer { for file in [from, to] { close(file) } }
            #expect(linux_copy_attributes(from, to, mask, "user.none") == 0)
            #expect(try RawFile.status(new).st_mode & 0o777 == 0o600 | mode_t(mask & 4) << 3)
        }
    }

    @Test("One attribute isn't copied: the mark of the old version")
    func mark() throws {
        try Self.withFile { directory, path in
            let new = directory + "/new"
            try RawFile.write("", to: new)
            let (from, to) = (open(path, O_RDONLY), open(new, O_WRONLY))
            defer { for file in [from, to] { close(file) } }
            for name in ["user.note", SaveMark.name] { #expect(linux_set_attribute(from, name, "old", 3) == 0) }
            #expect(linux_set_attribute(to, SaveMark.name, "new!", 4) == 0)
            #expect(linux_copy_attributes(from, to, 0, SaveMark.name) == 0)
            #expect(linux_attribute(to, "user.note", nil, 0) == 3)
            #expect(linux_attribute(to, SaveMark.name, nil, 0) == 4)
        }
    }

    @Test(
        "A directory's default ACL doesn't open a file that had no ACL",
        arguments: [0o600, 0o640] as [mode_t])
    func defaultACL(mode: mode_t) throws {
        try Self.withFile { directory, path in
            // A group that "nobody" isn't in, if the test may set one.
            chown(path, .max, 12_345)
            chmod(path, mode)
            try AccessControlList.set("default", on: directory)
            try Self.publish(path)
            #expect(try Self.attributes(of: path) == "{}\n")
            #expect(try RawFile.status(path).st_mode & 0o7777 == mode)
            let new = directory + "/b.plist"
            try Self.publish(new)
            #expect(try RawFile.status(new).st_mode & 0o7777 == 0o600)
            if geteuid() == 0 {
                for path in [path, new] {
                    #expect(asUnprivileged { Glibc.open(path, O_RDONLY) } < 0)
                }
            }
        }
    }

    @Test(
        "The group that a directory gives to new files doesn't replace an existing file's group",
        .enabled(if: geteuid() == 0))
    func directoryGroup() throws {
        try Self.withFile { directory, path in
            chmod(path, 0o640)
            chown(directory, 0, 65_534)
            chmod(directory, 0o2755)
            try Self.publish(path)
            let status = try RawFile.status(path)
            #expect(status.st_gid == getegid() && status.st_mode & 0o7777 == 0o640)
        }
    }

    /// An owner, group and mode, and the mode of the file after "nobody", a member of group 0, has saved it.
    static let given: [(owner: uid_t, group: gid_t, mode: mode_t, published: mode_t)] = [
        (65_534, 0, 0o640, 0o640), (0, 0, 0o644, 0o644), (0, 0, 0o640, 0o640), (65_534, 12_345, 0o640, 0o600),
        (65_534, 12_345, 0o664, 0o644), (65_534, 12_345, 0o644, 0o644), (65_534, 12_345, 0o604, 0o604),
    ]

    @Test(
        "The rights of a group that can't be kept aren't given to another group", .enabled(if: geteuid() == 0),
        arguments: given)
    func groupOfOthers(owner: uid_t, group: gid_t, mode: mode_t, published: mode_t) throws {
        try Self.withFile { directory, path in
            chown(directory, 65_534, 65_534)
            chown(path, owner, group)
            chmod(path, mode)
            try asUnprivileged { Result { try Self.publish(path) } }.get()
            let status = try RawFile.status(path)
            #expect(status.st_uid == 65_534 && status.st_gid == 0)
            #expect(status.st_mode & 0o7777 == published)
        }
    }
}
