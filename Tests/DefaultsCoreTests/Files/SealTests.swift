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

    /// Reads a file that a foreign writer has written, as a store does that knows an earlier version.
    private func foreignVersion(_ path: String, after known: FileVersion) throws -> FileVersion {
        letTimePass()
        try RawFile.replace(path, with: Array("{a = 2;}".utf8))
        guard case .contents(let contents) = DomainFile(path: path, keepsSeals: true).read(known: known) else {
            throw TestSystemError("The file wasn't read")
        }
        return contents.version
    }

    @Test("A read of a foreign writer's version shows, even once the file was replaced", arguments: [false, true])
    func foreign(isReplaced: Bool) throws {
        try withSavedFile(in: "/tmp") { path, version in
            let foreign = try foreignVersion(path, after: version)
            // Its writer knows it without reading it.
            #expect(foreign.seal != nil && foreign.seal?.isUnread == nil)
            letTimePass()
            _ = try RawFile.read(path)
            if isReplaced { try RawFile.replace(path, with: Array("{a = 3;}".utf8)) }
            #expect(foreign.seal?.isUnread == false)
        }
    }

    @Test("A read before a write in place tells nothing: the file may have been written more than once")
    func readAndWritten() throws {
        try withSavedFile(in: "/tmp") { path, version in
            try RawFile.write("{a = 2;}", to: path)
            _ = try RawFile.read(path)
            letTimePass()
            try RawFile.write("{a = 3;}", to: path)
            #expect(version.seal != nil && version.seal?.isUnread == nil)
        }
    }

    @Test("A read of a file written in the tick in which it was saved tells nothing of the saved version")
    func readBackInTheSameTick() throws {
        try withSavedFile(in: "/tmp") { path, version in
            try RawFile.write("{a = 2;}", to: path)
            let time = version.identity.modified.nanoseconds
            let modified = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
            #expect(utimensat(AT_FDCWD, path, [modified, modified], 0) == 0)
            _ = try RawFile.read(path)
            guard case .contents(let contents) = DomainFile(path: path).read(known: version) else {
                throw TestSystemError("The file wasn't read")
            }
            #expect(contents.evidence.isInPlace && contents.evidence.isUnread == nil)
        }
    }

    @Test(
        "A mount that doesn't record reads makes every seal of its file system uncertain", .enabled(if: getuid() == 0))
    func unrecordedElsewhere() throws {
        try withTemporaryDirectory { directory in
            let (usual, other) = (directory + "/usual", directory + "/other")
            try RawFile.makeDirectory(usual)
            try RawFile.makeDirectory(other)
            guard mount("none", usual, "tmpfs", 0, nil) == 0 else { return }
            defer { umount2(usual, Int32(MNT_DETACH)) }
            let file = DomainFile(path: usual + "/a.plist")
            guard case .saved(let version?, _) = try file.save(Array("{a = 1;}".utf8), expecting: nil) else {
                throw TestSystemError("The file wasn't saved")
            }
            #expect(version.seal?.isUnread == true)
            #expect(mount(usual, other, nil, UInt(MS_BIND), nil) == 0)
            #expect(mount("none", other, nil, UInt(MS_BIND | MS_REMOUNT | MS_NOATIME), nil) == 0)
            #expect(version.seal?.isUnread == nil)
            umount2(other, Int32(MNT_DETACH))
            #expect(version.seal?.isUnread == true)
        }
    }

    @Test(
        "A file on another mount than its directory has no seal, which would hold the mount",
        .enabled(if: getuid() == 0))
    func otherMount() throws {
        try withTemporaryDirectory { directory in
            let disk = directory + "/disk"
            try RawFile.makeDirectory(disk)
            guard mount("none", disk, "tmpfs", 0, nil) == 0 else { return }
            try RawFile.write("{a = 1;}", to: disk + "/real")
            #expect(symlink(disk + "/real", directory + "/a.plist") == 0)
            let file = DomainFile(path: directory + "/a.plist", keepsSeals: true)
            guard case .contents(let contents) = file.read(known: nil),
                case .saved(let version?, let displaced) = try file.save(
                    Array("{a = 2;}".utf8), expecting: contents.version)
            else { throw TestSystemError("The file wasn't saved") }
            #expect(version.seal == nil)
            displaced?.removeName()
            _ = consume displaced
            #expect(umount2(disk, 0) == 0)
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
            #expect(Seal(ofFileAt: path + ".copy", in: Path.directory(of: path)) == nil)
        }
    }
}
