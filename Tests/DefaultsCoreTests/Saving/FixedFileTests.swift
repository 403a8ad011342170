import Glibc
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// Files that can be written, but neither replaced nor removed.
@Suite("Files that can't be replaced")
struct FixedFileTests {
    private func setOne(_ fixture: StoreFixture, in store: Store, to value: PropertyListValue?) throws {
        _ = try store.submit(
            EditRequest(domain: fixture.domain, values: ["one": value], writer: .testApp))
        try store.save(fixture.domain)
    }

    /// Changes and empties a file, and checks that it stays the same file.
    private func change(_ fixture: StoreFixture) throws {
        let inode = try RawFile.status(fixture.path).st_ino
        let store = fixture.store()
        #expect(try store.reloadAll(isBaseline: true).isEmpty)
        try setOne(fixture, in: store, to: "11")
        #expect(try DomainValues.read(fixture.path) == ["one": "11"])
        try setOne(fixture, in: store, to: nil)
        #expect(try DomainValues.read(fixture.path) == [:])
        #expect(store.failures().isEmpty && store.pending().isEmpty)
        #expect(try RawFile.status(fixture.path).st_ino == inode)
    }

    @Test("A file in a directory that isn't writable is written in place, and emptied instead of removed")
    func unwritableDirectory() throws {
        try withTemporaryDirectory { directory in
            let fixture = try StoreFixture(directory)
            try RawFile.write("{ one = 1; }", to: fixture.path)
            chmod(fixture.path, 0o666)
            chmod(directory, 0o555)
            defer { chmod(directory, 0o755) }
            let error = asUnprivileged { () -> String? in
                do { try change(fixture) } catch { return "\(error)" }
                return nil
            }
            #expect(error == nil)
            #expect(namesOfFiles(in: directory) == ["org.example.app.plist"])
        }
    }

    @Test("A file that is a mount point is written in place, and emptied instead of removed", .enabled(if: canMount))
    func mountPoint() throws {
        try withTemporaryDirectory { directory in
            let fixture = try StoreFixture(directory + "/p")
            try Programs.shell(
                "mkdir p; echo '{ one = 1; }' > real; echo '{}' > p/org.example.app.plist; mount --bind real p/*",
                in: directory)
            defer { umount2(fixture.path, Int32(MNT_DETACH)) }
            try change(fixture)
            #expect(try DomainValues.read(directory + "/real") == [:])
            #expect(namesOfFiles(in: directory + "/p") == ["org.example.app.plist"])
        }
    }

    private static let canMount =
        (try? withTemporaryDirectory { directory in
            try Programs.shell("echo > a; echo > b; mount --bind a b && umount b", in: directory).status == 0
        }) ?? false
}
