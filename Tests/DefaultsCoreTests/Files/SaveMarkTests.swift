import CLinux
import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Marks of saved files")
struct SaveMarkTests {
    private static let day: Int64 = 86_400_000_000_000

    /// Sets a mark with an arbitrary time or text, as any program with write access can.
    private func mark(_ path: String, _ text: String) throws {
        let file = try FileDescriptor(opening: path, O_RDONLY)
        let bytes = Array(text.utf8)
        guard linux_set_attribute(file.number, "user.defaultsd.published", bytes, bytes.count) == 0 else {
            throw TestSystemError("fsetxattr \(path)")
        }
    }

    /// Returns the file's identity as it appears in a mark.
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

    @Test("A mark can make a file older but never newer")
    func time() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = 1; }", to: path)
            let (hash, changed) = try (contents(path).version.hash, contents(path).time)
            for (offset, expected) in [(-Self.day, -Self.day), (0, 0), (Self.day, 0), (3_650 * Self.day, 0)] {
                try mark(path, "\(hash) \(changed.nanoseconds + offset) \(identity(path))")
                let contents = try contents(path)
                #expect(contents.saveMark != nil)
                // Setting the mark changes the file's status and its change time.
                let least = offset < 0 ? changed.nanoseconds + expected : contents.version.identity.changed.nanoseconds
                #expect(contents.time.nanoseconds <= contents.version.identity.changed.nanoseconds)
                #expect(offset == 0 || contents.time.nanoseconds == least, "\(offset)")
            }
        }
    }

    @Test(
        "An invalid mark is ignored, and the file's own times apply",
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

    @Test("A mark from the future doesn't let a file overrule an edit that was made after it")
    func future() throws {
        try withStoreFixture { fixture in
            try fixture.writeLater(["both": "old"])
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            try fixture.writeLater(["both": "file", "theirs": "file"])
            let hash = try contents(fixture.path).version.hash
            try mark(fixture.path, "\(hash) \(Timestamp.now().nanoseconds + Self.day) \(identity(fixture.path))")
            letTimePass()
            fixture.edit(store, ["both": "edit"])
            fixture.look(store)
            #expect(fixture.values(store) == ["both": "edit", "theirs": "file"])
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["both": "edit", "theirs": "file"])
        }
    }

    @Test(
        "A backup restored with `cp -a` counts from its restoration, although its mark is copied too",
        arguments: [true, false])
    func restored(isInPlace: Bool) throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1])
            try store.save(fixture.domain)
            let backup = fixture.directory + ".backup"
            defer { unlink(backup) }
            let copy = "import subprocess, sys; subprocess.run(['cp', '-a'] + sys.argv[1:], check=True)"
            try ForeignProcess.run(python: copy, [fixture.path, backup])
            fixture.edit(store, ["a": 2])
            try store.save(fixture.domain)
            _ = store.examineDisplaced()
            // This edit is pending while the backup is restored.
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
