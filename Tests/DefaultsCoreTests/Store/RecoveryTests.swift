import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Recovery after a crash")
struct RecoveryTests {
    @Test(
        "Recovery removes unsaved and properly replaced versions and keeps a foreign writer's version",
        .enabled(if: ForeignProcess.hasPython))
    func leftovers() throws {
        try withStoreFixture { fixture in
            let contents = ["new", "expected", "foreign", "torn", "broken"].map { Array("{ a = \($0); }".utf8) }
            try RawFile.write("{ a = current; }", to: fixture.path)
            for (number, bytes) in contents.enumerated() {
                var temporary = TemporaryName(
                    for: fixture.path, new: ContentHash(contents[0]), expected: ContentHash(contents[1]))
                // Five crashes, at five versions. Recovery recognizes a file by its contents, and the torn one by its
                // mark.
                if number == 2 { temporary.new = ContentHash(value: 2) }
                if number >= 3 { temporary.new = ContentHash(value: UInt64(number)) }
                if number == 1 { temporary.new = ContentHash(value: 1) }
                let path = "\(fixture.directory)/\(temporary.name)"
                try RawFile.write(number >= 3 ? Array(bytes.dropLast(3)) : bytes, to: path)
                if number != 3 { continue }
                let saved = try #require(temporary.new)
                SaveMark(hash: saved, times: nil).set(on: try FileDescriptor(opening: path, O_RDWR))
            }
            // A file that a live process has locked must stay.
            let living = TemporaryName(for: fixture.path, new: ContentHash(value: 9), expected: nil)
            try RawFile.write("{ b = 1; }", to: "\(fixture.directory)/\(living.name)")
            let owner = try ForeignProcess(
                python: """
                    import fcntl, sys
                    file = open(sys.argv[1])
                    fcntl.flock(file, fcntl.LOCK_SH)
                    print("locked", flush=True)
                    sys.stdin.readline()
                    """, ["\(fixture.directory)/\(living.name)"])
            #expect(owner.line() == "locked")

            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["b": 1])
            try store.save(fixture.domain)
            _ = store.examineDisplaced()
            #expect(
                namesOfFiles(in: fixture.directory)
                    == ([living.name, "org.example.app.plist"]
                    + (1...2).map { "org.example.app.plist.displaced-\($0)" }).sorted())
            let kept = Set(try (1...2).map { try RawFile.read(fixture.path + ".displaced-\($0)") })
            #expect(kept == [contents[2], Array(contents[4].dropLast(3))])
            #expect(try DomainValues.read(fixture.path) == ["a": "current", "b": 1])

            // Once that process has ended without removing its file, the file is a leftover, too.
            try owner.remainder()
            #expect(!store.examineDisplaced())
            #expect(try RawFile.read(fixture.path + ".displaced-3") == Array("{ b = 1; }".utf8))
        }
    }

    @Test("A displaced version is merged even if the file was removed with its last key")
    func removedWithLastKey() throws {
        try withStoreFixture { fixture in
            let writer = try {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["k": 1])
                try first.save(fixture.domain)
                let writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                fixture.edit(first, ["k": nil])
                try first.save(fixture.domain, onObstacle: .override)
                return writer
            }()
            #expect(!RawFile.exists(fixture.path))
            letTimePass()
            try RawFile.write(PropertyListValue.dictionary(["k": 1, "x": 2]).write(as: .xml), to: writer)
            close(writer)
            let second = try fixture.resumedStore()
            _ = second.examineDisplaced()
            #expect(fixture.values(second) == ["x": 2])
        }
    }

    @Test("A displaced version isn't taken for an older one if its key was edited twice and the log was rewritten")
    func editedTwice() throws {
        try withStoreFixture { fixture in
            let writer = try {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["k": 0, "x": 1])
                try first.save(fixture.domain)
                fixture.edit(first, ["k": 1])
                try first.save(fixture.domain)
                let writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                fixture.edit(first, ["k": 2])
                try first.save(fixture.domain, onObstacle: .override)
                // Only the marks of displaced versions and of the file stay.
                first.journal?.logFile.withLock { $0.file?.sizeLimit = 0 }
                first.maintainJournal(HistoryLimits())
                return writer
            }()
            letTimePass()
            try RawFile.write(PropertyListValue.dictionary(["k": 1, "x": 2]).write(as: .xml), to: writer)
            close(writer)
            let second = try fixture.resumedStore()
            _ = second.examineDisplaced()
            #expect(fixture.values(second) == ["k": 2, "x": 2])
        }
    }

    @Test("A displaced version that the log doesn't know is copied, and undoes no edit")
    func unknownDisplacedVersion() throws {
        try withStoreFixture { fixture in
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["a": 1])
                try first.save(fixture.domain)
            }
            let bytes = try PropertyListValue.dictionary(["a": 1, "b": 1]).write(as: .xml)
            try RawFile.replace(fixture.path, with: bytes)
            var writer: Int32 = -1
            do {
                let process = fixture.store()
                fixture.look(process)
                writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                fixture.edit(process, ["a": 2])
                try process.save(fixture.domain, onObstacle: .override)
            }
            letTimePass()
            let late = try PropertyListValue.dictionary(["a": 1, "b": 1, "c": 1]).write(as: .xml)
            try RawFile.write(late, to: writer)
            close(writer)
            let second = try fixture.resumedStore()
            _ = second.examineDisplaced()
            #expect(fixture.values(second) == ["a": 2, "b": 1])
            #expect(try RawFile.read("\(fixture.path).displaced-1") == late)
        }
    }

    /// Saves an edit with a new store, as after a crash, and returns the names that are left.
    private func recover(_ fixture: StoreFixture, limits: PropertyListLimits = PropertyListLimits()) throws -> [String]
    {
        let store = fixture.store(limits: limits)
        _ = try store.start(resuming: nil)
        fixture.edit(store, ["edited": 1])
        try store.save(fixture.domain)
        _ = store.examineDisplaced()
        return namesOfFiles(in: fixture.directory)
    }

    @Test(
        "A version whose write in place was interrupted is kept, unless the file is intact",
        .enabled(if: ForeignProcess.hasPython), arguments: [true, false])
    func brokenOffInPlace(isWhole: Bool) throws {
        try withStoreFixture { fixture in
            let new = Array("{ a = new; b = (1, 2, 3); }".utf8)
            let temporary = TemporaryName(
                for: fixture.path, new: ContentHash(new), expected: ContentHash(Array("{ a = old; }".utf8)))
            try RawFile.write(new, to: "\(fixture.directory)/\(temporary.name)")
            try RawFile.write(isWhole ? "{ a = later; }" : "{ a = new; b =", to: fixture.path)
            let names = try recover(fixture)
            let name = "org.example.app.plist"
            #expect(names == (isWhole ? [name] : [name, "\(name).damaged-1", "\(name).unsaved-1"]))
            if !isWhole { #expect(try RawFile.read("\(fixture.path).unsaved-1") == new) }
        }
    }

    @Test(
        "A foreign version that is too large to read is kept without being read",
        .enabled(if: ForeignProcess.hasPython))
    func tooLarge() throws {
        try withStoreFixture { fixture in
            let temporary = TemporaryName(
                for: fixture.path, new: ContentHash(value: 1), expected: ContentHash(value: 2))
            try RawFile.write("{ a = current; }", to: fixture.path)
            let path = "\(fixture.directory)/\(temporary.name)"
            try RawFile.write("{ a = foreign; }", to: path)
            // A sparse file takes no space on the disk, but would fill the memory.
            #expect(truncate(path, 1 << 40) == 0)
            var limits = PropertyListLimits()
            limits.bytes = 1_000
            let name = "org.example.app.plist"
            #expect(try recover(fixture, limits: limits) == [name, "\(name).displaced-1"])
            #expect(try RawFile.status("\(fixture.path).displaced-1").st_size == 1 << 40)
        }
    }

    @Test(
        "Leftovers are found beside a link's target, and other files' leftovers there are left alone",
        .enabled(if: ForeignProcess.hasPython))
    func behindLink() throws {
        try withStoreFixture { fixture in
            let elsewhere = fixture.directory + "-elsewhere"
            try RawFile.makeDirectory(elsewhere)
            try RawFile.write("{ a = current; }", to: elsewhere + "/real")
            symlink("../d-elsewhere/real", fixture.path)
            var names: [String] = []
            for path in [fixture.path, "other.plist"] {
                let temporary = TemporaryName(for: path, new: ContentHash(value: 1), expected: ContentHash(value: 2))
                names.append(temporary.name)
                try RawFile.write("{ a = foreign; }", to: "\(elsewhere)/\(temporary.name)")
            }
            let name = "org.example.app.plist"
            #expect(try recover(fixture) == [name])
            // The copy is beside the file, not beside the link.
            #expect(namesOfFiles(in: elsewhere) == [names[1], "real", "real.displaced-1"])
            #expect(try RawFile.read(elsewhere + "/real.displaced-1") == Array("{ a = foreign; }".utf8))
            #expect(try DomainValues.read(fixture.path) == ["a": "current", "edited": 1])
        }
    }

    @Test("A leftover beside a link's target waits for a process that saves in that directory")
    func lockedBehindLink() throws {
        try withStoreFixture { fixture in
            let elsewhere = fixture.directory + "-elsewhere"
            try RawFile.makeDirectory(elsewhere)
            try RawFile.write("{ a = current; }", to: elsewhere + "/real")
            symlink("../d-elsewhere/real", fixture.path)
            let hash = ContentHash(value: 1)
            let leftover = TemporaryName(for: fixture.path, new: hash, expected: hash).name
            try RawFile.write("{ a = foreign; }", to: "\(elsewhere)/\(leftover)")
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            do {
                let lock = try DirectoryLock(PreferencesDirectory(path: elsewhere))
                #expect(store.examineDisplaced())
                #expect(namesOfFiles(in: elsewhere) == [leftover, DirectoryLock.fileName, "real"])
                _ = consume lock
            }
            #expect(!store.examineDisplaced())
            #expect(namesOfFiles(in: elsewhere) == ["real", "real.displaced-1"])
        }
    }

    @Test(
        "Leftovers beside a link's target belong to the link, even between the directory and ByHost",
        .enabled(if: ForeignProcess.hasPython), arguments: [true, false], ["displaced", "unsaved"])
    func linkedAcross(toHosts: Bool, kind: String) throws {
        try withStoreFixture { fixture in
            let hosts = "\(fixture.directory)/ByHost"
            try RawFile.makeDirectory(hosts)
            let place = toHosts ? hosts : fixture.directory
            let link = toHosts ? fixture.path : "\(hosts)/org.example.app.ABC.plist"
            symlink(toHosts ? "ByHost/shared" : "../shared", link)
            let whole = Array("{ a = whole; }".utf8)
            var temporary = TemporaryName(for: link, new: ContentHash(whole), expected: ContentHash(value: 2))
            if kind == "displaced" { temporary.new = ContentHash(value: 1) }
            try RawFile.write(kind == "displaced" ? "{ a = current; }" : "{ a = to", to: "\(place)/shared")
            try RawFile.write(whole, to: "\(place)/\(temporary.name)")
            _ = fixture.store().examineDisplaced()
            #expect(try RawFile.read("\(place)/shared.\(kind)-1") == whole)
            #expect(!RawFile.exists("\(place)/\(temporary.name)"))
        }
    }

    @Test(
        "A leftover version that a program still has open is kept until the program closes it",
        .enabled(if: ForeignProcess.hasPython))
    func openLeftover() throws {
        try withStoreFixture { fixture in
            let old = Array("{ a = old; }".utf8)
            let temporary = TemporaryName(
                for: fixture.path, new: ContentHash(value: 1), expected: ContentHash(old))
            let leftover = "\(fixture.directory)/\(temporary.name)"
            try RawFile.write(old, to: leftover)
            let writer = open(leftover, O_RDWR | O_CLOEXEC)
            let store = fixture.store()
            for number in 1...2 {
                fixture.edit(store, ["b": .integer(Int64(number))])
                try store.save(fixture.domain)
                #expect(store.examineDisplaced())
                #expect(RawFile.exists(leftover))
            }
            try RawFile.write("{ a = new; }".utf8, to: writer)
            close(writer)
            fixture.edit(store, ["b": 3])
            try store.save(fixture.domain)
            #expect(!store.examineDisplaced())
            #expect(!RawFile.exists(leftover))
            #expect(try RawFile.read(fixture.path + ".displaced-1") == Array("{ a = new; }".utf8))
        }
    }

    @Test("A torn write in place doesn't change the values, which are saved again with the next edit")
    func torn() throws {
        try withStoreFixture { fixture in
            let whole = Array("{ keep = 1; z = short; }".utf8)
            let temporary = TemporaryName(for: fixture.path, new: ContentHash(whole), expected: ContentHash(value: 1))
            try RawFile.write(whole, to: "\(fixture.directory)/\(temporary.name)")
            try RawFile.write("{ keep = 1; z = short; }xxxxxxxx; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.reloadAll(losses: .believe, isBaseline: true)
            _ = store.examineDisplaced()
            #expect(fixture.values(store) == ["keep": "1", "z": "short"])
            fixture.edit(store, ["q": 2])
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["keep": "1", "z": "short", "q": 2])
        }
    }
}
