import CLinux
import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Saving a file")
struct SavingTests {
    private let old = Array("{ a = old; }".utf8)
    private let new = Array("{ a = new; }".utf8)

    private func file(_ path: String) -> DomainFile { DomainFile(path: path, limits: PropertyListLimits()) }

    /// Returns the file's version as a reader sees it.
    private func version(of path: String) throws -> FileVersion {
        guard case .contents(let contents) = file(path).read(known: nil) else { throw TestSystemError(path) }
        return contents.version
    }

    @Test("A new file is accessible only to the user, and nothing else is left in the directory")
    func newFile() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            guard case .saved(let version?, displaced: nil) = try file(path).save(new, expecting: nil) else {
                Issue.record("The file wasn't saved.")
                return
            }
            #expect(try RawFile.read(path) == new)
            #expect(version == (try self.version(of: path)))
            #expect(try RawFile.status(path).st_mode & 0o7777 == 0o600)
            #expect(namesOfFiles(in: directory) == ["a.plist"])
        }
    }

    @Test("The ByHost directory is created with the first file in it")
    func byHost() throws {
        try withTemporaryDirectory { directory in
            let publication = try file(directory + "/ByHost/a.AB.plist").save(new, expecting: nil)
            #expect(publication.isDone)
            #expect(try RawFile.read(directory + "/ByHost/a.AB.plist") == new)
        }
    }

    @Test("A replaced file keeps its mode, owner and attributes, and the caller gets the displaced file")
    func replacement() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old, to: path)
            chmod(path, 0o640)
            if geteuid() == 0 { chown(path, 65_534, 65_534) }
            let setting = "import os, sys; os.setxattr(sys.argv[1], 'user.note', b'kept')"
            let hasAttributes = (try? ForeignProcess.run(python: setting, [path])) != nil
            let expected = try version(of: path)
            guard case .saved(let version?, let displaced?) = try file(path).save(new, expecting: expected) else {
                Issue.record("The file wasn't saved.")
                return
            }
            let status = try RawFile.status(path)
            #expect(try RawFile.read(path) == new)
            #expect(version == (try self.version(of: path)))
            #expect(status.st_mode & 0o7777 == 0o640)
            if geteuid() == 0 { #expect([status.st_uid, status.st_gid] == [65_534, 65_534]) }
            if hasAttributes {
                let getting = "import os, sys; print(os.getxattr(sys.argv[1], 'user.note'))"
                #expect(try ForeignProcess.run(python: getting, [path]) == "b'kept'\n")
            }
            #expect(try displaced.bytes() == old)
            #expect(displaced.examine(known: expected).kind == "unchanged")
            displaced.removeName()
            #expect(namesOfFiles(in: directory) == ["a.plist"])
            #expect(try displaced.bytes() == old)
        }
    }

    @Test("A writer that changes the displaced file after the exchange is noticed", arguments: [true, false])
    func lateWriter(hasNameLeft: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old, to: path)
            let expected = try version(of: path)
            // The descriptor is open before the exchange, but not for writing, so the lease is granted.
            let late = open(path, O_RDONLY)
            defer { close(late) }
            guard case .saved(_, let displaced?) = try file(path).save(new, expecting: expected) else {
                Issue.record("The file wasn't saved.")
                return
            }
            if !hasNameLeft { displaced.removeName() }
            let writer = open("/proc/self/fd/\(late)", O_WRONLY | O_TRUNC)
            try RawFile.write(Array("{ a = late".utf8), to: writer)
            #expect(displaced.examine(known: expected).kind == "beingWritten")
            try RawFile.write(Array("; }".utf8), to: writer)
            RawFile.close(writer)
            guard case .contents(let contents) = displaced.examine(known: expected) else {
                Issue.record("The late writer's version wasn't seen.")
                return
            }
            #expect(contents.values == ["a": "late"])
            #expect(try RawFile.read(path) == new)
        }
    }

    @Test(
        "Saving through a symbolic link keeps the link and replaces its target",
        arguments: ["real/b.plist", "absolute"])
    func symbolicLink(target: String) throws {
        try withTemporaryDirectory { directory in
            try RawFile.makeDirectory(directory + "/real")
            let real = directory + "/real/b.plist"
            let path = directory + "/a.plist"
            try RawFile.write(old, to: real)
            symlink(target == "absolute" ? real : target, path)
            #expect(try file(path).save(new, expecting: version(of: path)).isDone)
            #expect(try RawFile.status(path).st_mode & S_IFMT == S_IFLNK)
            #expect(try RawFile.read(real) == new)
        }
    }

    @Test("Saving through a dangling link creates nothing", arguments: ["b.plist", "none/b.plist"])
    func danglingLink(target: String) throws {
        try withTemporaryDirectory { directory in
            symlink(target, directory + "/a.plist")
            guard case .fileChanged = try file(directory + "/a.plist").save(new, expecting: nil) else {
                Issue.record("The file was saved.")
                return
            }
            #expect(namesOfFiles(in: directory) == ["a.plist"])
        }
    }

    @Test("A file with several hard links is written in place, so that all of its names see the new contents")
    func hardLink() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old + Array("    ".utf8), to: path)
            link(path, directory + "/other")
            let inode = try RawFile.status(path).st_ino
            guard case .saved(let version?, displaced: nil) = try file(path).save(new, expecting: version(of: path))
            else {
                Issue.record("The file wasn't saved.")
                return
            }
            #expect(try RawFile.status(path).st_ino == inode)
            #expect(try RawFile.read(directory + "/other") == new)
            #expect(version == (try self.version(of: path)))
            #expect(namesOfFiles(in: directory) == ["a.plist", "other"])
        }
    }

    @Test(
        "A file with several hard links stays intact when the disk is full", .enabled(if: SmallFileSystem.isAvailable))
    func fullDisk() throws {
        try withTemporaryDirectory { directory in
            let disk = try SmallFileSystem(at: directory, bytes: 64 << 10)
            let path = disk.path + "/a.plist"
            try RawFile.write(old, to: path)
            link(path, disk.path + "/other")
            // The disk has room for one copy beside the file, but not for two.
            let large = Array("{ a = \(String(repeating: "x", count: 40 << 10)); }".utf8)
            let expected = try version(of: path)
            let error = #expect(throws: DefaultsError.self) { try file(path).save(large, expecting: expected) }
            #expect(error?.errno == ENOSPC)
            #expect(try RawFile.read(path) == old)
            #expect(namesOfFiles(in: disk.path) == ["a.plist", "other"])
            // The save succeeds once there is room.
            #expect(try file(path).save(new, expecting: expected).isDone)
            #expect(try RawFile.read(disk.path + "/other") == new)
        }
    }

    @Test("The copy left by an interrupted write in place stays while the file isn't in the expected state")
    func keptCopy() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old, to: path)
            let expected = try version(of: path)
            let copy = TemporaryName(for: path, new: ContentHash(new), expected: expected.hash).name
            try RawFile.write(new, to: "\(directory)/\(copy)")
            try RawFile.write(Array(new.prefix(5)), to: path)
            #expect(try !file(path).save(new, expecting: expected).isDone)
            #expect(namesOfFiles(in: directory) == [copy, "a.plist"])
            #expect(try RawFile.read("\(directory)/\(copy)") == new)
        }
    }

    @Test("An exchange in several steps uses only temporary names that recovery recognizes")
    func exchangeInSteps() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old, to: path)
            let expected = try version(of: path)
            let replacement = Replacement(
                of: file(path), at: path, expecting: expected, adding: [:], by: .resident, onObstacle: .wait)
            let free = try replacement.freePath(new: ContentHash(value: 0))
            let backup = try #require(TemporaryName(name: Path.lastName(of: free)))
            #expect(backup.target == TemporaryName.hash(ofNameAt: path))
            #expect(backup.expected == expected.hash)

            try RawFile.write(new, to: directory + "/temporary")
            try replacement.exchangeInSteps(directory + "/temporary")
            #expect(try RawFile.read(path) == new)
            #expect(try RawFile.read(directory + "/temporary") == old)
            #expect(namesOfFiles(in: directory) == ["a.plist", "temporary"])
        }
    }

    @Test("A file that isn't in the expected state is left unchanged")
    func overtaken() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old, to: path)
            let expected = try version(of: path)
            // The file has appeared.
            #expect(try !file(path).save(new, expecting: nil).isDone)
            #expect(try !file(path).save(nil, expecting: nil).isDone)
            // The file differs, with the same length or a different one.
            for text in ["{ a = xyz; }", "{ a = longer; }"] {
                try RawFile.write(text, to: path)
                #expect(try !file(path).save(new, expecting: expected).isDone)
                #expect(try !file(path).save(nil, expecting: expected).isDone)
                #expect(try RawFile.read(path) == Array(text.utf8))
            }
            // The file has vanished.
            unlink(path)
            #expect(try !file(path).save(new, expecting: expected).isDone)
            #expect(try !file(path).save(nil, expecting: expected).isDone)
            #expect(namesOfFiles(in: directory) == [])
        }
    }

    @Test("A file with the expected bytes but different times is in the expected state")
    func touched() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old, to: path)
            let expected = try version(of: path)
            try RawFile.replace(path, with: old)
            #expect(try file(path).save(new, expecting: expected).isDone)
        }
    }

    @Test("A removed file is returned like a displaced one, and removing a missing file succeeds")
    func removal() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            guard case .saved(nil, displaced: nil) = try file(path).save(nil, expecting: nil) else {
                Issue.record("Removing a missing file didn't succeed.")
                return
            }
            try RawFile.write(old, to: path)
            guard case .saved(nil, let displaced?) = try file(path).save(nil, expecting: version(of: path)) else {
                Issue.record("The file wasn't removed.")
                return
            }
            #expect(!RawFile.exists(path))
            #expect(try displaced.bytes() == old)
            displaced.removeName()
            #expect(namesOfFiles(in: directory) == [])
        }
    }

    @Test("A save that can't write throws an error and leaves everything unchanged")
    func failure() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old, to: path)
            let expected = try version(of: path)
            chmod(directory, 0o555)
            let error = asUnprivileged { [new] in
                Result { () throws(DefaultsError) in
                    _ = try DomainFile(path: path, limits: PropertyListLimits()).save(new, expecting: expected)
                }
            }
            chmod(directory, 0o755)
            guard case .failure(let error) = error else {
                Issue.record("The file was saved.")
                return
            }
            #expect(error.code == .notSaved)
            #expect(error.errno == EACCES)
            #expect(error.description.hasPrefix("\(path) can't be written: "))
            #expect(error.description.hasSuffix(". Edits are kept in memory, and saving is retried."))
            #expect(try RawFile.read(path) == old)
            #expect(namesOfFiles(in: directory) == ["a.plist"])

            let gone = #expect(throws: DefaultsError.self) {
                try file(directory + "/none/deeper/a.plist").save(new, expecting: nil)
            }
            #expect(gone?.errno == ENOENT)
        }
    }

    @Test("An open displaced file keeps its contents when the same version is saved again")
    func repeatedPublication() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(old, to: path)
            guard case .saved(let second, let first?) = try file(path).save(new, expecting: version(of: path)),
                case .saved(let third, let between?) = try file(path).save(old, expecting: second),
                case .saved(_, let last?) = try file(path).save(new, expecting: third)
            else {
                Issue.record("The file wasn't saved.")
                return
            }
            #expect(try first.bytes() == old)
            #expect(try between.bytes() == new)
            #expect(try last.bytes() == old)
            for displaced in [first, between, last] { displaced.removeName() }
            #expect(namesOfFiles(in: directory) == ["a.plist"])
        }
    }

    @Test("A directory that takes the file's place at the last moment isn't displaced", .timeLimit(.minutes(1)))
    func directoryInstead() throws {
        try withTemporaryDirectory { directory in
            let (path, other) = (directory + "/a.plist", directory + "/other")
            try RawFile.write(old, to: path)
            try RawFile.makeDirectory(other)
            try RawFile.write("kept", to: other + "/inside")
            // This thread swaps the two without a pause, so that some saves find the directory between their last
            // check and the exchange.
            withBackgroundThread { mayGoOn in
                while mayGoOn() { linux_rename_exchange(AT_FDCWD, path, AT_FDCWD, other) }
            } while: {
                for number in 0..<300 {
                    let bytes = Array("{ a = \(number); }".utf8)
                    guard case .contents(let contents) = file(path).read(known: nil) else { continue }
                    let publication = try? file(path).save(bytes, expecting: contents.version)
                    if case .saved(_, let displaced)? = publication { displaced?.removeName() }
                }
            }
            let places = [path, other].filter { RawFile.exists($0 + "/inside") }
            #expect(places.count == 1)
            #expect(namesOfFiles(in: directory) == ["a.plist", "other"])
        }
    }

    @Test("A link to a name that isn't UTF-8 can be read, and saving through it fails with that reason")
    func undecodableTarget() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try ForeignProcess.run(
                python: """
                    import os, sys
                    os.chdir(sys.argv[1])
                    open(b"caf\\xe9.plist", "w").write("{ a = old; }")
                    os.symlink(b"caf\\xe9.plist", b"a.plist")
                    """, [directory])
            let expected = try version(of: path)
            let error = #expect(throws: DefaultsError.self) { try file(path).save(new, expecting: expected) }
            #expect(error?.description.contains("is a link to a name that is not UTF-8") == true)
            #expect(try RawFile.read(path) == old)
        }
    }
}
