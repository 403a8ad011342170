import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("A store whose directory disappears")
struct MissingDirectoryTests {
    private static func remove(_ fixture: StoreFixture) throws {
        for name in namesOfFiles(in: fixture.directory) { unlink("\(fixture.directory)/\(name)") }
        #expect(rmdir(fixture.directory) == 0)
    }

    @Test("A removed directory is created again for a save, and its other files count as removed")
    func removed() throws {
        try withStoreFixture { fixture in
            let other = "\(fixture.directory)/other.plist"
            try RawFile.write("{ a = 1; }", to: other)
            try RawFile.write("{ a = 1; b = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["b": 2])
            try Self.remove(fixture)
            fixture.edit(store, ["c": 3])
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["b": 2, "c": 3])
            #expect(try RawFile.status(fixture.directory).st_mode & 0o777 == 0o700)
            _ = try store.reloadAll(losses: .believe)
            #expect(store.domains() == [fixture.domain])
            #expect(fixture.values(store) == ["b": 2, "c": 3])
            // The new directory can be removed, too.
            try Self.remove(fixture)
            fixture.edit(store, ["d": 4])
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path)["d"] == 4)
        }
    }

    @Test("A directory that was moved away isn't created again, and gets the edits when it is back")
    func moved() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            let elsewhere = fixture.directory + " (deleted)"
            #expect(rename(fixture.directory, elsewhere) == 0)
            fixture.edit(store, ["b": 2])
            #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            #expect(!RawFile.exists(fixture.directory))
            #expect(rename(elsewhere, fixture.directory) == 0)
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
        }
    }

    @Test("A directory that replaced a removed one and was moved away isn't created again")
    func replaced() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            try Self.remove(fixture)
            try RawFile.makeDirectory(fixture.directory)
            try RawFile.write("{ a = 2; }", to: fixture.path)
            _ = try store.reloadAll(losses: .believe)
            #expect(rename(fixture.directory, fixture.directory + "-elsewhere") == 0)
            fixture.edit(store, ["b": 2])
            #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            #expect(!RawFile.exists(fixture.directory))
        }
    }

    @Test("Edits made while the directory was gone outlast a store that creates the file without knowing of them")
    func newFile() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; b = 1; c = 1; }", to: fixture.path)
            let store = try fixture.storeWithLog()
            #expect(rename(fixture.directory, fixture.directory + "-elsewhere") == 0)
            #expect(throws: DefaultsError.self) { try store.reloadAll() }
            fixture.edit(store, ["a": 2, "b": 2, "new": 2])
            #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }

            try RawFile.makeDirectory(fixture.directory)
            let command = Store(directory: PreferencesDirectory(path: fixture.directory), lifetime: .transient)
            fixture.edit(command, ["b": 3, "d": 3])
            try command.save(fixture.domain)

            let next = try fixture.resumedStore()
            #expect(fixture.values(next) == ["a": 2, "b": 3, "d": 3, "new": 2])
            try next.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 3, "d": 3, "new": 2])
        }
    }

    @Test("Keys that a store removed after an agent ended stay removed if the file wasn't gone")
    func removedKeys() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; b = 1; }", to: fixture.path)
            let store = try fixture.storeWithLog()
            fixture.edit(store, ["a": 2])
            let command = Store(directory: PreferencesDirectory(path: fixture.directory), lifetime: .transient)
            _ = try command.start(resuming: nil)
            fixture.edit(command, ["a": nil])
            try command.save(fixture.domain)
            #expect(fixture.values(try fixture.resumedStore()) == ["b": "1"])
        }
    }
}
