import Glibc
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Stores that share a directory")
struct CooperationTests {
    @Test("A key removed by one store isn't restored by another that had loaded less")
    func removal() throws {
        try withStoreFixture { fixture in
            let first = fixture.store()
            let second = fixture.store()
            _ = try first.start(resuming: nil)
            fixture.look(first)
            fixture.edit(second, ["a": 1])
            try second.save(fixture.domain)
            fixture.look(first)
            fixture.edit(second, ["a": nil, "b": 2])
            try second.save(fixture.domain)
            fixture.look(first)
            #expect(fixture.values(first) == ["b": 2])
            fixture.edit(first, ["c": 3])
            try first.save(fixture.domain)
            fixture.look(second)
            #expect(fixture.values(second) == ["b": 2, "c": 3])
            #expect(try DomainValues.read(fixture.path) == ["b": 2, "c": 3])
        }
    }

    @Test("The directory that a domain's link leads to is locked, too, while the domain is saved")
    func linkedDirectory() throws {
        try withStoreFixture { fixture in
            let elsewhere = fixture.directory + "-elsewhere"
            try RawFile.makeDirectory(elsewhere)
            try RawFile.write("{ a = 1; }", to: elsewhere + "/real.plist")
            symlink("../d-elsewhere/real.plist", fixture.path)
            let store = fixture.store()
            fixture.look(store)
            fixture.edit(store, ["b": 2])
            do {
                let lock = try DirectoryLock(PreferencesDirectory(path: elsewhere))
                let error = #expect(throws: DefaultsError.self) { try store.save(fixture.domain, onObstacle: .report) }
                #expect(error?.code == .locked)
                _ = consume lock
            }
            try store.save(fixture.domain, onObstacle: .report)
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
        }
    }

    @Test("A saved file that a foreign writer changes counts as the foreign writer's")
    func foreign() throws {
        try withStoreFixture { fixture in
            let first = fixture.store()
            fixture.edit(first, ["a": 1, "b": 1])
            try first.save(fixture.domain)
            fixture.edit(first, ["c": 1])
            try first.save(fixture.domain)
            // The file is truncated in place, so it keeps the mark of its old contents. Its writer had loaded the
            // first version.
            try RawFile.write(PropertyListValue.dictionary(["a": 1, "b": 2]).write(as: .xml), to: fixture.path)
            fixture.look(first)
            #expect(fixture.values(first) == ["a": 1, "b": 2, "c": 1])
        }
    }

    @Test("An edit in one store survives the save of an earlier edit by another store")
    func meanwhile() throws {
        try withStoreFixture { fixture in
            let first = fixture.store()
            let second = fixture.store()
            fixture.look(second)
            let earlier = Timestamp.now()
            let later = Timestamp(nanoseconds: earlier.nanoseconds + 1)
            fixture.edit(first, ["a": 1, "b": 1], at: earlier)
            fixture.edit(second, ["a": 2], at: later)
            // The file is created only now.
            try first.save(fixture.domain)
            try second.save(fixture.domain)
            #expect(fixture.values(second) == ["a": 2, "b": 1])
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 1])
        }
    }
}
