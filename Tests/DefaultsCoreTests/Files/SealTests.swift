import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Seals of saved versions")
struct SealTests {
    /// Directories on different file systems.
    static let places = ["/tmp", "/dev/shm"]

    private func withSavedFile(
        in place: String, _ body: (_ path: String, _ version: FileVersion) throws -> Void
    ) throws {
        try withTemporaryDirectory(in: place) { directory in
            let path = directory + "/a.plist"
            guard case .saved(let version?, _) = try DomainFile(path: path).save(Array("{a = 1;}".utf8), expecting: nil)
            else { throw TestSystemError("The file wasn't saved") }
            try body(path, version)
        }
    }

    @Test("A seal outlasts our own reads, questions about the file, and the file's replacement", arguments: places)
    func intact(place: String) throws {
        try withSavedFile(in: place) { path, version in
            #expect(version.seal?.isUnread == true)
            guard case .contents(let contents) = DomainFile(path: path).read(known: nil) else {
                throw TestSystemError("The file wasn't read")
            }
            #expect(contents.values == ["a": "1"])
            _ = try RawFile.status(path)
            try RawFile.write("{a = 2;}", to: path)
            #expect(version.seal?.isUnread == true)
            try RawFile.replace(path, with: Array("{a = 3;}".utf8))
            _ = try RawFile.read(path)
            #expect(version.seal?.isUnread == true)
        }
    }

    @Test("A file system that doesn't record reads has no seals", .enabled(if: getuid() == 0))
    func unrecorded() throws {
        try withTemporaryDirectory { directory in
            guard mount("none", directory, "tmpfs", UInt(MS_NOATIME), nil) == 0 else { return }
            defer { umount2(directory, Int32(MNT_DETACH)) }
            let path = directory + "/a.plist"
            guard case .saved(let version?, _) = try DomainFile(path: path).save(Array("{a = 1;}".utf8), expecting: nil)
            else { throw TestSystemError("The file wasn't saved") }
            #expect(version.seal == nil)
            try RawFile.write("{a = 2;}", to: path)
            guard case .contents(let contents) = DomainFile(path: path).read(known: version) else {
                throw TestSystemError("The file wasn't read")
            }
            #expect(contents.evidence.isUnread == nil)
        }
    }

    @Test("Another program's first read breaks the seal", arguments: places)
    func broken(place: String) throws {
        try withSavedFile(in: place) { path, version in
            _ = try RawFile.read(path)
            #expect(version.seal?.isUnread == false)
        }
    }

    @Test("Once the file has been written, a read tells nothing of earlier reads")
    func readBack() throws {
        try withSavedFile(in: "/tmp") { path, version in
            try RawFile.write("{a = 2;}", to: path)
            _ = try RawFile.read(path)
            #expect(version.seal != nil && version.seal?.isUnread == nil)
        }
    }

    @Test("A file isn't written later than it changed, whatever its time of modification says")
    func modifiedAhead() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{a = 1;}", to: path)
            let times = Array(repeating: timeval(tv_sec: time(nil) + 3_600, tv_usec: 0), count: 2)
            #expect(utimes(path, times) == 0)
            guard case .contents(let contents) = DomainFile(path: path).read(known: nil) else {
                throw TestSystemError("The file wasn't read")
            }
            #expect(contents.evidence.written == contents.version.identity.changed)
        }
    }

    @Test("A copy isn't sealed, even if it keeps the times", .enabled(if: ForeignProcess.hasPython))
    func copied() throws {
        try withSavedFile(in: "/tmp") { path, _ in
            try ForeignProcess.run(python: "import shutil, sys; shutil.copy2(*sys.argv[1:])", [path, path + ".copy"])
            #expect(Seal(ofFileAt: path + ".copy") == nil)
        }
    }
}
