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
                try mark(path, "\(hash) \(changed.nanoseconds + offset)")
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
        arguments: [" ", "   ", "x", "# abc", "# 99999999999999999999", "# ", " #", "# -", "#  1"])
    func damaged(text: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = 1; }", to: path)
            let hash = try contents(path).version.hash
            try mark(path, text.replacing("#", with: "\(hash)"))
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
            try mark(fixture.path, "\(hash) \(Timestamp.now().nanoseconds + Self.day)")
            letTimePass()
            fixture.edit(store, ["both": "edit"])
            fixture.look(store)
            #expect(fixture.values(store) == ["both": "edit", "theirs": "file"])
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["both": "edit", "theirs": "file"])
        }
    }
}
