import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Store with problems")
struct StoreTroubleTests {
    @Test("An edit that is made while a damaged file is replaced with its last good values stays")
    func editWhileReplacing() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 0])
            try store.save(fixture.domain)
            fixture.edit(store, ["a": 1])
            try RawFile.write("{", to: fixture.path)
            fixture.look(store)
            let snapshot = fixture.values(store)
            #expect(snapshot == ["a": 1])
            let time = Timestamp.now()
            fixture.edit(store, ["a": 2])
            let directory = PreferencesDirectory(path: fixture.directory)
            let file = DomainFile(path: fixture.path)
            #expect(try file.replaceDamage(with: snapshot, of: time, in: directory) != nil)
            fixture.look(store)
            #expect(fixture.values(store) == ["a": 2])
        }
    }

    @Test("A damaged file isn't replaced while a store saves, in ByHost and as a link's target too")
    func replacingWhileSaving() throws {
        try withStoreFixture { fixture in
            let directory = PreferencesDirectory(path: fixture.directory)
            try RawFile.makeDirectory(fixture.directory + "/ByHost")
            let elsewhere = fixture.directory + "/elsewhere"
            try RawFile.makeDirectory(elsewhere)
            try RawFile.write("{", to: elsewhere + "/real")
            #expect(symlink("elsewhere/real", fixture.directory + "/link.plist") == 0)
            for name in ["a.plist", "ByHost/a.H.plist"] { try RawFile.write("{", to: "\(fixture.directory)/\(name)") }
            for (name, locked) in [
                ("a.plist", directory), ("ByHost/a.H.plist", directory), ("link.plist", directory),
                ("link.plist", PreferencesDirectory(path: elsewhere)),
            ] {
                let lock = try DirectoryLock(locked, timeout: 0)
                let error = #expect(throws: DefaultsError.self) {
                    try DomainFile(path: "\(fixture.directory)/\(name)").replaceDamage(
                        with: ["a": 1], of: .now(), in: directory, timeout: 0)
                }
                #expect(error?.code == .locked, "\(name) \(locked.path)")
                _ = consume lock
            }
        }
    }

    @Test("A damaged file is reported once per version, and the last good values are kept")
    func damaged() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            try RawFile.write("{ a = ", to: fixture.path)
            #expect(store.reload([fixture.domain]).unconfirmed == [fixture.domain])
            #expect(store.events == [])
            for _ in 0..<3 { fixture.look(store) }
            #expect(store.events == ["damaged"])
            #expect(fixture.values(store) == ["a": "1"])
            #expect(store.failures().map(\.error.code) == [.damaged])
            // Once the file is old, its times are trusted. That doesn't make it a different version.
            let status = try RawFile.status(fixture.path)
            #expect(eventually { !FileIdentity(status).isFresh(at: .now()) })
            fixture.look(store)
            #expect(store.events == ["damaged"])

            try RawFile.write("{ a = (", to: fixture.path)
            fixture.look(store)
            #expect(store.events == ["damaged", "damaged"])
            try RawFile.write("{ a = 2; }", to: fixture.path)
            fixture.look(store)
            #expect(store.events == ["damaged", "damaged", "file: a", "recovered"])
            #expect(store.failures().isEmpty)
        }
    }

    @Test("A file repaired to its earlier contents has recovered, without a change")
    func mended() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            for text in ["", "{ a = 1; }"] {
                try RawFile.write(text, to: fixture.path)
                fixture.look(store)
            }
            #expect(store.events == ["damaged", "recovered"])
            #expect(store.failures().isEmpty)
        }
    }

    @Test(
        "A damaged file is copied byte for byte before edits replace it",
        arguments: ["{ a = ", "", "bplist00\u{1}"])
    func copiedAside(text: String) throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["b": 2])
            try RawFile.write(text, to: fixture.path)
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
            #expect(try RawFile.read(fixture.path + ".damaged-1") == Array(text.utf8))
            #expect(store.failures().isEmpty)
            _ = store.examineDisplaced()
            #expect(
                namesOfFiles(in: fixture.directory) == ["org.example.app.plist", "org.example.app.plist.damaged-1"])
        }
    }

    @Test("An edit that changes only the normalization of a nested key is saved")
    func nestedNormalization() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = { \"e\u{301}\" = 1; }; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["a": ["\u{E9}": "1"]])
            try store.save(fixture.domain)
            let text = String(decoding: try RawFile.read(fixture.path), as: UTF8.self)
            #expect(text.unicodeScalars.contains("\u{E9}") && !text.unicodeScalars.contains("\u{301}"), "\(text)")
        }
    }

    @Test("A file with keys that differ only in normalization is read, and copied before edits replace it")
    func equivalentKeys() throws {
        try withStoreFixture { fixture in
            let text = "{ \"e\u{301}\" = 1; \"\u{E9}\" = 2; a = { \"\u{E9}\" = 3; }; }"
            try RawFile.write(text, to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            #expect(fixture.values(store) == ["\u{E9}": "2", "a": ["\u{E9}": "3"]])
            #expect(store.failures().isEmpty)
            for number in 1...3 {
                fixture.edit(store, ["b": .integer(Int64(number))])
                try store.save(fixture.domain)
            }
            let copy = fixture.path + ".equivalent-keys-1"
            #expect(try RawFile.read(copy) == Array(text.utf8))
            _ = store.examineDisplaced()
            #expect(
                namesOfFiles(in: fixture.directory)
                    == ["org.example.app.plist", "org.example.app.plist.equivalent-keys-1"])

            // Different bytes of that kind need another copy, regardless of the depth of the keys.
            let deeper = "{ b = 3; c = ({ \"\u{E9}\" = 1; \"e\u{301}\" = 2; }); }"
            try RawFile.write(deeper, to: fixture.path)
            fixture.edit(store, ["b": 4])
            try store.save(fixture.domain)
            #expect(try RawFile.read(fixture.path + ".equivalent-keys-2") == Array(deeper.utf8))
        }
    }

    @Test("A key with more consecutive combining marks than a file may have is rejected")
    func markRuns() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            let key = "a" + String(repeating: "\u{301}\u{323}", count: 65)
            for values in [[key: 1], ["k": ["d": [[key: 1]]]]] as [Difference] {
                let request = EditRequest(domain: fixture.domain, values: values, writer: .testApp)
                let error = #expect(throws: DefaultsError.self) { try store.submit(request) }
                #expect(error?.code == .invalidValue)
            }
        }
    }

    @Test(
        "A date outside the years 0 to 9999 is rejected at any depth",
        arguments: [252_423_993_600, -63_145_526_401, 1e300, -.infinity, .nan])
    func datesBeyondCalendar(seconds: Double) throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            let date = PropertyListValue.date(PropertyListDate(secondsSinceReferenceDate: seconds))
            for values in [["k": date], ["k": [["d": date]]]] as [Difference] {
                let request = EditRequest(domain: fixture.domain, values: values, writer: .testApp)
                let error = #expect(throws: DefaultsError.self) { try store.submit(request) }
                #expect(error?.code == .invalidValue)
                #expect(error?.description.contains("outside the years 0 to 9999") == true)
            }
            fixture.edit(store, ["k": .date(PropertyListDate(secondsSinceReferenceDate: 252_423_993_599.5))])
        }
    }

    @Test("A file that is missing briefly keeps its values until the loss is confirmed")
    func vanished() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            rename(fixture.path, fixture.path + "~")
            #expect(store.reload([fixture.domain]).unconfirmed == [fixture.domain])
            #expect(fixture.values(store) == ["a": "1"])
            rename(fixture.path + "~", fixture.path)
            #expect(store.reload([fixture.domain]).isEmpty)
            #expect(store.events == [])
            unlink(fixture.path)
            fixture.look(store)
            #expect(store.events == ["file: a"])
            #expect(store.domains() == [])
        }
    }

    @Test(
        "An edit made around the disappearance of the directory is saved in its replacement",
        arguments: ["before", "noticed", "unnoticed"])
    func directoryReplaced(edited: String) throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; c = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            if edited == "before" { fixture.edit(store, ["a": 2, "b": 2]) }
            #expect(rename(fixture.directory, fixture.directory + "-away") == 0)
            if edited == "unnoticed" {
                fixture.edit(store, ["a": 2, "b": 2])
                #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            }
            #expect(throws: DefaultsError.self) { try store.reloadAll() }
            if edited == "noticed" { fixture.edit(store, ["a": 2, "b": 2]) }
            try RawFile.makeDirectory(fixture.directory)
            _ = try store.reloadAll(losses: .believe)
            #expect(fixture.values(store) == ["a": 2, "b": 2])
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 2])
        }
    }

    @Test("An unreadable ByHost directory doesn't prevent saving domains for any host")
    func unreadableHosts() throws {
        try withStoreFixture { fixture in
            let hosts = fixture.directory + "/ByHost"
            try RawFile.makeDirectory(hosts)
            if geteuid() == 0 { chown(fixture.directory, 65_534, 65_534) }
            chmod(Path.directory(of: fixture.directory), 0o755)
            chmod(hosts, 0)
            defer { chmod(hosts, 0o755) }
            let store = fixture.store()
            fixture.edit(store, ["a": 1])
            let failures = asUnprivileged { store.saveAll().map(\.error) }
            #expect(failures == [])
            #expect(store.directory.problem == nil || geteuid() != 0)
            #expect(asUnprivileged { store.directory.problem }?.description.contains(hosts) == true)
            #expect(try DomainValues.read(fixture.path) == ["a": 1])
        }
    }

    @Test("Edits that can't be saved stay pending, are reported, and are saved once the cause is gone")
    func readOnlyDirectory() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            try RawFile.write("{ a = 1; }", to: fixture.path)
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["b": 2])
            let parent = Path.directory(of: fixture.directory)
            chmod(parent, 0o755)
            chmod(fixture.directory, 0o555)
            for _ in 0..<2 {
                let failures = asUnprivileged { store.saveAll().map(\.error) }
                #expect(failures.map(\.code) == [.notSaved])
                #expect(failures.map(\.errno) == [EACCES])
                #expect(store.failures().map(\.error) == failures)
            }
            #expect(store.pending().map(\.edits) == [1])
            #expect(fixture.values(store) == ["a": "1", "b": 2])
            #expect(try RawFile.read(fixture.path) == Array("{ a = 1; }".utf8))
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
            chmod(fixture.directory, 0o755)
            #expect(store.events == ["app: b", "unsaved"])
            #expect(store.saveAll().isEmpty)
            #expect(store.failures().isEmpty)
            #expect(store.events == ["app: b", "unsaved", "recovered"])
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
        }
    }

    @Test("Edits stay pending if the directory can't be synchronized, and the displaced file is examined")
    func directoryNotDurable() throws {
        try withStoreFixture { fixture in
            let elsewhere = fixture.directory + "-elsewhere"
            try RawFile.makeDirectory(elsewhere)
            try RawFile.write("{ a = 1; }", to: elsewhere + "/real")
            symlink("../d-elsewhere/real", fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["b": 2])
            for path in [Path.directory(of: fixture.directory), fixture.directory] { chmod(path, 0o755) }
            // Names in it may be changed, but it can't be opened, and therefore can't be synchronized.
            chmod(elsewhere, 0o333)
            let failures = asUnprivileged { store.saveAll().map(\.error) }
            chmod(elsewhere, 0o755)
            #expect(failures.map(\.code) == [.notSaved])
            #expect(failures.map(\.errno) == [EACCES])
            #expect(store.pending().map(\.edits) == [1])
            #expect(eventually { !store.examineDisplaced() })
            #expect(namesOfFiles(in: elsewhere) == ["real"])
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
            // A version that may not be durable doesn't count as saved when it is read again.
            fixture.look(store)
            #expect(store.pending().map(\.edits) == [1])
            let inode = try RawFile.status(elsewhere + "/real").st_ino
            #expect(store.saveAll().isEmpty)
            #expect(try RawFile.status(elsewhere + "/real").st_ino != inode)
            #expect(store.pending().isEmpty)
            #expect(store.events == ["app: b", "unsaved", "recovered"])
        }
    }

    @Test("A directory in the file's place is left alone, and the edits stay pending until it is gone")
    func directoryInPlace() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            try RawFile.makeDirectory(fixture.path)
            fixture.edit(store, ["a": 1])
            let error = #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            #expect(error?.code == .notSaved)
            #expect(error?.description.contains("is not a regular file") == true)
            #expect(store.pending().count == 1)
            rmdir(fixture.path)
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 1])
            #expect(store.failures().isEmpty)
        }
    }

    @Test("A failure ends when another program writes the same value as the pending edit")
    func settledElsewhere() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            try RawFile.makeDirectory(fixture.path)
            fixture.edit(store, ["a": 1])
            #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            rmdir(fixture.path)
            try RawFile.write(PropertyListValue.dictionary(["a": 1]).write(as: .xml), to: fixture.path)
            fixture.look(store)
            #expect(store.pending().isEmpty)
            #expect(store.failures().isEmpty)
        }
    }

    @Test("A missing directory is an error if it was named explicitly, and is created if it is the default")
    func missingDirectory() throws {
        try withTemporaryDirectory { path in
            let domain = try Domain("a")
            for isExplicit in [true, false] {
                let directory = PreferencesDirectory(path: path + "/none", isExplicit: isExplicit)
                let store = Store(directory: directory)
                store.edit(EditRequest(domain: domain, values: ["a": 1], writer: .testApp))
                if isExplicit {
                    let error = #expect(throws: DefaultsError.self) { try store.save(domain) }
                    #expect(error?.code == .directory)
                } else {
                    try store.save(domain)
                    #expect(try RawFile.status(path + "/none").st_mode & 0o777 == 0o700)
                }
            }
        }
    }
}
