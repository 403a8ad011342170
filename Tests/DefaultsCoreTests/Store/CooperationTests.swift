import Glibc
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Stores that share a directory")
struct CooperationTests {
    @Test("A key that one removes doesn't come back by another that had loaded nothing, or less")
    func removal() throws {
        try withStoreFixture { fixture in
            let first = fixture.store()
            let second = fixture.store()
            _ = try first.lookAtAll(isBaseline: true)
            fixture.look(first)
            fixture.edit(second, ["a": 1])
            try second.publish(fixture.domain)
            fixture.look(first)
            fixture.edit(second, ["a": nil, "b": 2])
            try second.publish(fixture.domain)
            fixture.look(first)
            #expect(fixture.values(first) == ["b": 2])
            fixture.edit(first, ["c": 3])
            try first.publish(fixture.domain)
            fixture.look(second)
            #expect(fixture.values(second) == ["b": 2, "c": 3])
            #expect(try DomainValues.read(fixture.path) == ["b": 2, "c": 3])
        }
    }

    @Test("The directory that a domain's link leads into is locked, too, while the domain is saved")
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
                let error = #expect(throws: DefaultsError.self) { try store.publish(fixture.domain, .report) }
                #expect(error?.code == .locked)
                _ = consume lock
            }
            try store.publish(fixture.domain, .report)
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "b": 2])
        }
    }

    @Test("A file that a foreign writer changes after it was published is a foreign writer's")
    func foreign() throws {
        try withStoreFixture { fixture in
            let first = fixture.store()
            fixture.edit(first, ["a": 1, "b": 1])
            try first.publish(fixture.domain)
            fixture.edit(first, ["c": 1])
            try first.publish(fixture.domain)
            // Truncated in place, it keeps the mark of what it held; its writer had loaded the first version.
            try RawFile.write(PropertyListValue.dictionary(["a": 1, "b": 2]).write(as: .xml), to: fixture.path)
            fixture.look(first)
            #expect(fixture.values(first) == ["a": 1, "b": 2, "c": 1])
        }
    }

    @Test("An edit that one takes while another publishes an earlier one stands")
    func meanwhile() throws {
        try withStoreFixture { fixture in
            let first = fixture.store()
            let second = fixture.store()
            fixture.look(second)
            let earlier = Timestamp.now()
            let later = Timestamp(nanoseconds: earlier.nanoseconds + 1)
            fixture.edit(first, ["a": 1, "b": 1], at: earlier)
            fixture.edit(second, ["a": 2], at: later)
            // The file comes to be only now.
            try first.publish(fixture.domain)
            try second.publish(fixture.domain)
            #expect(fixture.values(second) == ["a": 2, "b": 1])
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 1])
        }
    }
}
