import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The store, when something is wrong")
struct StoreTroubleTests {
    @Test("A damaged file is told once for each state of it, and the last good values are kept")
    func damaged() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            try RawFile.write("{ a = ", to: fixture.path)
            #expect(store.look(at: [fixture.domain]).doubtful == [fixture.domain])
            #expect(store.events == [])
            for _ in 0..<3 { fixture.look(store) }
            #expect(store.events == ["damaged"])
            #expect(fixture.values(store) == ["a": "1"])
            #expect(store.failures().map(\.error.code) == [.damaged])
            // Once it is old, its times are trusted; that makes it no other state.
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

    @Test("A file that is mended to what it was is no change, and no damage any more")
    func mended() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            for text in ["", "{ a = 1; }"] {
                try RawFile.write(text, to: fixture.path)
                fixture.look(store)
            }
            #expect(store.events == ["damaged", "recovered"])
            #expect(store.failures().isEmpty)
        }
    }

    @Test(
        "A damaged file is copied aside, byte by byte, before edits replace it",
        arguments: ["{ a = ", "", "bplist00\u{1}"])
    func copiedAside(text: String) throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["b": 2])
            try RawFile.write(text, to: fixture.path)
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
            #expect(try RawFile.read(fixture.path + ".damaged-1") == Array(text.utf8))
            #expect(store.failures().isEmpty)
            _ = store.examineDisplaced()
            #expect(
                namesOfFiles(in: fixture.directory) == ["org.example.app.plist", "org.example.app.plist.damaged-1"])
        }
    }

    @Test("A file with keys that differ only in normalization is taken, and copied aside before edits replace it")
    func equivalentKeys() throws {
        try withStoreFixture { fixture in
            let text = "{ \"e\u{301}\" = 1; \"\u{E9}\" = 2; a = { \"\u{E9}\" = 3; }; }"
            try RawFile.write(text, to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            #expect(fixture.values(store) == ["\u{E9}": "2", "a": ["\u{E9}": "3"]])
            #expect(store.failures().isEmpty)
            for number in 1...3 {
                fixture.edit(store, ["b": .integer(Int64(number))])
                try store.publish(fixture.domain)
            }
            let copy = fixture.path + ".equivalent-keys-1"
            #expect(try RawFile.read(copy) == Array(text.utf8))
            _ = store.examineDisplaced()
            #expect(
                namesOfFiles(in: fixture.directory)
                    == ["org.example.app.plist", "org.example.app.plist.equivalent-keys-1"])

            // Other bytes of that kind are another file to lose, at whatever depth the keys are.
            let deeper = "{ b = 3; c = ({ \"\u{E9}\" = 1; \"e\u{301}\" = 2; }); }"
            try RawFile.write(deeper, to: fixture.path)
            fixture.edit(store, ["b": 4])
            try store.publish(fixture.domain)
            #expect(try RawFile.read(fixture.path + ".equivalent-keys-2") == Array(deeper.utf8))
        }
    }

    @Test("A key of more combining marks in a row than a file may have is refused")
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
        "A date outside the years 0 to 9999 is refused, at whatever depth",
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

    @Test("A file that isn't there for a moment keeps its values until that is settled")
    func vanished() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            rename(fixture.path, fixture.path + "~")
            #expect(store.look(at: [fixture.domain]).doubtful == [fixture.domain])
            #expect(fixture.values(store) == ["a": "1"])
            rename(fixture.path + "~", fixture.path)
            #expect(store.look(at: [fixture.domain]).isEmpty)
            #expect(store.events == [])
            unlink(fixture.path)
            fixture.look(store)
            #expect(store.events == ["file: a"])
            #expect(store.domains() == [])
        }
    }

    @Test(
        "An edit made about when the directory went away is kept, and saved in the directory that takes its place",
        arguments: ["before", "noticed", "unnoticed"])
    func directoryReplaced(edited: String) throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; c = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            if edited == "before" { fixture.edit(store, ["a": 2, "b": 2]) }
            #expect(rename(fixture.directory, fixture.directory + "-away") == 0)
            if edited == "unnoticed" {
                fixture.edit(store, ["a": 2, "b": 2])
                #expect(throws: DefaultsError.self) { try store.publish(fixture.domain) }
            }
            #expect(throws: DefaultsError.self) { try store.lookAtAll() }
            if edited == "noticed" { fixture.edit(store, ["a": 2, "b": 2]) }
            try RawFile.makeDirectory(fixture.directory)
            _ = try store.lookAtAll(haste: .settle)
            #expect(fixture.values(store) == ["a": 2, "b": 2])
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 2])
        }
    }

    @Test("A directory for hosts that can't be read keeps no domain for any host from being saved")
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
            let failures = asUnprivileged { store.publishAll().map(\.error) }
            #expect(failures == [])
            #expect(store.directory.problem == nil || geteuid() != 0)
            #expect(asUnprivileged { store.directory.problem }?.description.contains(hosts) == true)
            #expect(try DomainValues.read(fixture.path) == ["a": 1])
        }
    }

    @Test("What can't be published stays pending, is reported, and is published when the cause is gone")
    func readOnlyDirectory() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            try RawFile.write("{ a = 1; }", to: fixture.path)
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["b": 2])
            let parent = Path.directory(of: fixture.directory)
            chmod(parent, 0o755)
            chmod(fixture.directory, 0o555)
            for _ in 0..<2 {
                let failures = asUnprivileged { store.publishAll().map(\.error) }
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
            #expect(store.publishAll().isEmpty)
            #expect(store.failures().isEmpty)
            #expect(store.events == ["app: b", "unsaved", "recovered"])
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
        }
    }

    @Test("Where the directory can't be made durable the edits stay pending, and the replaced version is examined")
    func directoryNotDurable() throws {
        try withStoreFixture { fixture in
            let elsewhere = fixture.directory + "-elsewhere"
            try RawFile.makeDirectory(elsewhere)
            try RawFile.write("{ a = 1; }", to: elsewhere + "/real")
            symlink("../d-elsewhere/real", fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["b": 2])
            for path in [Path.directory(of: fixture.directory), fixture.directory] { chmod(path, 0o755) }
            // Names may be changed in it, but it can't be opened, and so can't be synchronized.
            chmod(elsewhere, 0o333)
            let failures = asUnprivileged { store.publishAll().map(\.error) }
            chmod(elsewhere, 0o755)
            #expect(failures.map(\.code) == [.notSaved])
            #expect(failures.map(\.errno) == [EACCES])
            #expect(store.pending().map(\.edits) == [1])
            #expect(eventually { !store.examineDisplaced() })
            #expect(namesOfFiles(in: elsewhere) == ["real"])
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
            // What isn't known to be durable isn't taken for it when it is seen again.
            fixture.look(store)
            #expect(store.pending().map(\.edits) == [1])
            let inode = try RawFile.status(elsewhere + "/real").st_ino
            #expect(store.publishAll().isEmpty)
            #expect(try RawFile.status(elsewhere + "/real").st_ino != inode)
            #expect(store.pending().isEmpty)
            #expect(store.events == ["app: b", "unsaved", "recovered"])
        }
    }

    @Test("A directory in the file's place is left alone, and the edits wait until it is gone")
    func directoryInPlace() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            try RawFile.makeDirectory(fixture.path)
            fixture.edit(store, ["a": 1])
            let error = #expect(throws: DefaultsError.self) { try store.publish(fixture.domain) }
            #expect(error?.code == .notSaved)
            #expect(error?.description.contains("is no regular file") == true)
            #expect(store.pending().count == 1)
            rmdir(fixture.path)
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 1])
            #expect(store.failures().isEmpty)
        }
    }

    @Test("An edit that someone else's write has settled is no failure any more")
    func settledElsewhere() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            try RawFile.makeDirectory(fixture.path)
            fixture.edit(store, ["a": 1])
            #expect(throws: DefaultsError.self) { try store.publish(fixture.domain) }
            rmdir(fixture.path)
            try RawFile.write(PropertyListValue.dictionary(["a": 1]).write(as: .xml), to: fixture.path)
            fixture.look(store)
            #expect(store.pending().isEmpty)
            #expect(store.failures().isEmpty)
        }
    }

    @Test("A directory that was named and isn't there is an error; the usual one is made")
    func missingDirectory() throws {
        try withTemporaryDirectory { path in
            let domain = try Domain("a")
            for isExplicit in [true, false] {
                let directory = PreferencesDirectory(path: path + "/none", isExplicit: isExplicit)
                let store = Store(directory: directory)
                store.edit(EditRequest(domain: domain, values: ["a": 1], writer: .testApp))
                if isExplicit {
                    let error = #expect(throws: DefaultsError.self) { try store.publish(domain) }
                    #expect(error?.code == .directory)
                } else {
                    try store.publish(domain)
                    #expect(try RawFile.status(path + "/none").st_mode & 0o777 == 0o700)
                }
            }
        }
    }
}
