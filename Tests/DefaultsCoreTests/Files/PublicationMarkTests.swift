import CLinux
import Glibc
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The mark of a published file")
struct PublicationMarkTests {
    private static let day: Int64 = 86_400_000_000_000

    /// Marks a file as whoever may write it can: with any time, or any text.
    private func mark(_ path: String, _ text: String) throws {
        let file = try FileDescriptor(opening: path, O_RDONLY)
        let bytes = Array(text.utf8)
        guard linux_set_attribute(file.number, "user.defaultsd.published", bytes, bytes.count) == 0 else {
            throw TestSystemError("fsetxattr \(path)")
        }
    }

    /// The file as a mark names it.
    private func identity(_ path: String) throws -> String {
        let file = try FileDescriptor(opening: path, O_RDONLY)
        return try "\(file.status().st_ino) \(linux_birth_time(file.number))"
    }

    private func contents(_ path: String) throws -> FileContents {
        guard case .contents(let contents) = DomainFile(path: path).read(known: nil) else {
            throw TestSystemError("The file wasn't read")
        }
        return contents
    }

    @Test("says when its newest edit was made, but never that the file is younger than its own times")
    func time() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = 1; }", to: path)
            let (hash, changed) = try (contents(path).version.hash, contents(path).time)
            for (offset, expected) in [(-Self.day, -Self.day), (0, 0), (Self.day, 0), (3_650 * Self.day, 0)] {
                try mark(path, "\(hash) \(changed.nanoseconds + offset) \(identity(path))")
                let contents = try contents(path)
                #expect(contents.publication != nil)
                // To set the mark is to change the file's status.
                let least = offset < 0 ? changed.nanoseconds + expected : contents.version.identity.changed.nanoseconds
                #expect(contents.time.nanoseconds <= contents.version.identity.changed.nanoseconds)
                #expect(offset == 0 || contents.time.nanoseconds == least, "\(offset)")
            }
        }
    }

    @Test(
        "that is none is passed over, and the file's times count",
        arguments: [
            " ", "   ", "x", "# abc", "# 99999999999999999999", "# ", " #", "# -", "#  1", "# 1", "# x @", "# - 1 1",
            "# - @ 1",
        ])
    func damaged(text: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = 1; }", to: path)
            let hash = try contents(path).version.hash
            try mark(path, text.replacing("#", with: "\(hash)").replacing("@", with: identity(path)))
            let contents = try contents(path)
            #expect(contents.values == ["a": "1"])
            #expect(contents.time <= contents.version.identity.changed)
        }
    }

    @Test("from the future doesn't let a file overrule an edit that was made after it")
    func future() throws {
        try withStoreFixture { fixture in
            try fixture.writeLater(["both": "old"])
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            try fixture.writeLater(["both": "file", "theirs": "file"])
            let hash = try contents(fixture.path).version.hash
            try mark(fixture.path, "\(hash) \(Timestamp.now().nanoseconds + Self.day) \(identity(fixture.path))")
            letTimePass()
            fixture.edit(store, ["both": "edit"])
            fixture.look(store)
            #expect(fixture.values(store) == ["both": "edit", "theirs": "file"])
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["both": "edit", "theirs": "file"])
        }
    }

    @Test(
        "A backup that `cp -a` puts back counts from when it was put back, though it brings the mark along",
        arguments: [true, false])
    func restored(isInPlace: Bool) throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1])
            try store.publish(fixture.domain)
            let backup = fixture.directory + ".backup"
            defer { unlink(backup) }
            let copy = "import subprocess, sys; subprocess.run(['cp', '-a'] + sys.argv[1:], check=True)"
            try ForeignProcess.run(python: copy, [fixture.path, backup])
            fixture.edit(store, ["a": 2])
            try store.publish(fixture.domain)
            _ = store.examineDisplaced()
            // It waits to be saved while the backup is put back.
            fixture.edit(store, ["a": 3])
            letTimePass()
            if !isInPlace { unlink(fixture.path) }
            try ForeignProcess.run(python: copy, [backup, fixture.path])
            fixture.look(store)
            #expect(fixture.values(store) == ["a": 1])
            #expect(store.pending().isEmpty)
        }
    }
}
