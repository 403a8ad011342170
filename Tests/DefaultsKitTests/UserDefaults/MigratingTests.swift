import DefaultsClient
import Foundation
import Linux
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsKit

@Suite("Migrating preferences", .timeLimit(.minutes(1)))
struct MigratingTests {
    private let defaults = Defaults(inMemory: ["size": 14])
    private let fontSize = DefaultsKey("fontSize", default: 12, in: 6...72)
    private let count = DefaultsKey("count", default: 0)
    private struct Stop: Error {}

    private var steps: [String]? { defaults.stringArray(forKey: "DefaultsMigrations") }

    @Test("A step is taken once, together with its edits")
    func once() throws {
        for number in 0..<3 {
            #expect(try defaults.migrate(once: "a") { values in values[count] += 1 } == (number == 0))
        }
        #expect(try defaults.migrate(once: "b") { values in values[count] += 10 })
        #expect(defaults[count] == 11 && steps == ["a", "b"])
        defaults.resetAll()
        #expect(try defaults.migrate(once: "a") { values in values[count] += 1 })
        #expect(defaults[count] == 1 && steps == ["a"])
    }

    @Test("A step that throws, or whose edit is refused, changes nothing and is tried again")
    func failures() throws {
        #expect(throws: Stop.self) {
            try defaults.migrate(once: "a") { values in
                values[count] = 1
                throw Stop()
            }
        }
        #expect(throws: DefaultsProblem.self) {
            try defaults.migrate(once: "a") { values in
                values[count] = 1
                values[fontSize] = 99
            }
        }
        #expect(defaults.values() == ["size": 14])
        #expect(try defaults.migrate(once: "a") { values in values[count] = 1 })
        #expect(defaults[count] == 1)
    }

    @Test("A list of steps that isn't an array is left as it is, and the call throws")
    func unreadableSteps() throws {
        defaults.set("none", forKey: "DefaultsMigrations")
        let problem = #expect(throws: DefaultsProblem.self) { try defaults.migrate("size", to: fontSize) }
        #expect(problem?.code == .type)
        #expect(defaults.values() == ["size": 14, "DefaultsMigrations": "none"])
    }

    @Test("Processes that start at the same time take a step once")
    func atTheSameTime() throws {
        try ScratchPlace.with { place in
            try place.write(["size": 14], to: place.preferences + "/app.plist")
            let clients = try (0..<4).map { _ in try place.client() }
            defer { for client in clients { client.close() } }
            let processes = try clients.map { client in try #require(Defaults(suiteName: "app", in: client)) }
            let (taken, moved) = (ForkSafeMutex(0), ForkSafeMutex(0))
            DispatchQueue.concurrentPerform(iterations: 16) { number in
                let defaults = processes[number % 4]
                do {
                    if try defaults.migrate(once: "a", { values in values[count] += 1 }) { taken.withLock { $0 += 1 } }
                    if try defaults.migrate("size", to: fontSize) { moved.withLock { $0 += 1 } }
                } catch { Issue.record(error) }
            }
            #expect(taken.withLock { $0 } == 1 && moved.withLock { $0 } == 1)
            let values = try place.read(place.preferences + "/app.plist")
            #expect(values["count"] == 1 && values["fontSize"] == 14 && values["size"] == 14)
            guard case .array(let steps)? = values["DefaultsMigrations"] else { throw Stop() }
            #expect(steps.count == 2)
        }
    }

    @Test("A damaged file is left for repair, whether it has the key or the former name")
    func damagedFile() throws {
        try ScratchPlace.with { place in
            let path = place.preferences + "/app.plist"
            try RawFile.write("{ size = 14; ", to: path)
            let client = try place.client()
            defer { client.close() }
            let app = try #require(Defaults(suiteName: "app", in: client))
            for migrate in [
                { try app.migrate(once: "a") { values in values[count] += 1 } },
                { try app.migrate("size", to: fontSize) },
                { try app.migrate("size", of: "app", to: DefaultsKey("size", default: 0, domain: "other")) },
            ] {
                let problem = #expect(throws: DefaultsProblem.self) { _ = try migrate() }
                #expect(problem?.code == .file)
            }
            client.close()
            #expect(try RawFile.read(path) == Array("{ size = 14; ".utf8))
        }
    }

    @Test("A key gets the value of its former name once, and neither a reset nor an older program brings it back")
    func formerName() throws {
        #expect(try defaults.migrate("size", to: fontSize))
        #expect(defaults[fontSize] == 14 && defaults.integer(forKey: "size") == 14)
        defaults[fontSize] = 20
        #expect(try !defaults.migrate("size", to: fontSize))
        // An older version of the program is still in use.
        defaults.set(30, forKey: "size")
        defaults.reset(fontSize)
        #expect(try !defaults.migrate("size", to: fontSize))
        #expect(defaults[fontSize] == 12 && defaults.integer(forKey: "size") == 30)
    }

    @Test("A key that is already set stays as it is, also after a reset")
    func alreadySet() throws {
        defaults[fontSize] = 20
        #expect(try !defaults.migrate("size", to: fontSize))
        #expect(defaults[fontSize] == 20)
        defaults.reset(fontSize)
        #expect(try !defaults.migrate("size", to: fontSize))
        #expect(defaults[fontSize] == 12)
    }

    @Test("A former name that is set only later counts, and registered defaults don't")
    func later() throws {
        let key = DefaultsKey("width", default: 0)
        defaults.register(defaults: ["width": 5, "oldWidth": 6])
        #expect(try !defaults.migrate("oldWidth", to: key))
        #expect(steps == nil)
        defaults.set(7, forKey: "oldWidth")
        #expect(try defaults.migrate("oldWidth", to: key))
        #expect(defaults[key] == 7)
    }

    @Test("A former value of another type, or outside the key's range, is reported, and read once it is mended")
    func refused() throws {
        for (value, code) in [("large" as Any, DefaultsProblem.Code.type), (99, .value)] {
            defaults.set(value, forKey: "size")
            let problem = #expect(throws: DefaultsProblem.self) { try defaults.migrate("size", to: fontSize) }
            #expect(problem?.code == code)
            #expect(defaults.object(forKey: "fontSize") == nil && steps == nil)
        }
        defaults.set(16, forKey: "size")
        #expect(try defaults.migrate("size", to: fontSize))
        #expect(defaults[fontSize] == 16)
    }

    @Test("A former name may be in another domain, and so may the key")
    func domains() throws {
        let theme = DefaultsKey("theme", default: "light", domain: "org.example.editor")
        defaults.setPersistentDomain(["style": "dark"], forName: "org.example.oldEditor")
        #expect(try defaults.migrate("style", of: "org.example.oldEditor", to: theme))
        #expect(defaults[theme] == "dark" && steps == nil)
        #expect(defaults.persistentDomain(forName: "org.example.oldEditor") as? [String: String] == ["style": "dark"])
        defaults.reset(theme)
        #expect(try !defaults.migrate("style", of: "org.example.oldEditor", to: theme))
        #expect(defaults[theme] == "light")
    }
}
