import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsKit

@Suite("Keys with a domain or a range", .timeLimit(.minutes(1)))
struct KeyDomainTests {
    private let defaults = UserDefaults(inMemory: ["size": 1])
    private let size = DefaultsKey("size", default: 0, domain: "org.example.editor")
    private let theme = DefaultsKey<String?>("theme", domain: "org.example.editor")

    private var editor: [String: Int]? { defaults.persistentDomain(forName: "org.example.editor") as? [String: Int] }

    @Test("A key with a domain is read, set, changed, updated and removed there, whatever instance it is used with")
    func singleKeys() throws {
        #expect(defaults[size] == 0)
        defaults[size] = 5
        defaults[size] += 1
        try defaults.update(size) { $0 += 1 }
        #expect(defaults[size] == 7 && editor == ["size": 7] && defaults.integer(forKey: "size") == 1)
        #expect(defaults.layers(holding: size).count == 1)
        defaults.reset(size, DefaultsKey("size", default: 0))
        #expect(defaults[size] == 0 && editor == nil && defaults.object(forKey: "size") == nil)
    }

    @Test("Instances of one client share the values of keys with a domain")
    func siblings() throws {
        try ScratchPlace.withClient { _, client in
            let app = try #require(UserDefaults(suiteName: "app", in: client))
            let editor = try #require(UserDefaults(suiteName: "org.example.editor", in: client))
            app[size] = 3
            #expect(editor[size] == 3 && editor.integer(forKey: "size") == 3 && app.object(forKey: "size") == nil)
            #expect(app.owner(of: size.domain) === app.owner(of: size.domain))
            #expect(editor.owner(of: size.domain) === editor && app.owner(of: "app") === app)
        }
    }

    @Test("A program with keys of ever more domains retains few instances, and reads and sets all of them")
    func manyDomains() throws {
        let keys = (0..<200).map { DefaultsKey("size", default: 0, domain: "org.example.user\($0)") }
        for (number, key) in keys.enumerated() { defaults[key] = number }
        for (number, key) in keys.enumerated() {
            try defaults.update(key) { $0 += 1 }
            #expect(defaults[key] == number + 1)
        }
        #expect(defaults.others.withLock { $0.count } == UserDefaults.maximumRetained)
    }

    @Test("Streams follow the key's own domain, of one key or of several")
    func streams() async throws {
        defaults[size] = 2
        var one = defaults.updates(of: size).makeAsyncIterator()
        var both = defaults.updates(of: size, theme).makeAsyncIterator()
        var listed = defaults.updates(of: [AnyDefaultsKey(size), AnyDefaultsKey(theme)]).makeAsyncIterator()
        var changes = defaults.changes(of: size).makeAsyncIterator()
        #expect(await one.next() == 2)
        #expect(await both.next()?.0 == 2)
        #expect(await listed.next()?[size] == 2)
        defaults[size] = 3
        #expect(await one.next() == 3)
        #expect(await both.next()?.0 == 3)
        #expect(await listed.next()?[size] == 3)
        #expect(await changes.next()?.newValue == 3)
    }

    @Test("A key of another domain in a transaction, a stream of several keys or a snapshot is reported, and unset")
    func foreign() async {
        await #expect(processExitsWith: .success) {
            let problems = ForkSafeMutex<[String]>([])
            UserDefaults.setProblemHandler { problem in
                #expect(problem.code == .name)
                problems.withLock { $0.append(problem.description) }
            }
            func reported() -> Int {
                problems.withLock { list in
                    defer { list = [] }; return list.count
                }
            }
            let defaults = UserDefaults(inMemory: ["size": 1])
            let (own, size) = (DefaultsKey("size", default: 0), DefaultsKey("size", default: 9, domain: "other"))
            let domains = ForkSafeMutex(0)
            defaults.withTransaction { values in
                values[own] = 2
                values[size] = 3
                domains.withLock { $0 = values[size] }
            }
            #expect(domains.withLock { $0 } == 9 && defaults[own] == 2 && defaults[size] == 9 && reported() == 2)
            var both = defaults.updates(of: own, size).makeAsyncIterator()
            let pair = await both.next()
            #expect(pair?.0 == 2 && pair?.1 == 9 && reported() == 1)
            var snapshots = defaults.snapshots().makeAsyncIterator()
            let snapshot = await snapshots.next()
            #expect(snapshot?[own] == 2 && snapshot?[size] == 9 && reported() == 1)
            defaults.register(size)
            #expect(defaults.object(forKey: "size") as? Int == 2 && reported() == 1)
            let global = DefaultsKey("x", default: 0, domain: ".GlobalPreferences")
            defaults[global] = 4
            var globals = defaults.updates(of: [AnyDefaultsKey(global)]).makeAsyncIterator()
            let values = await globals.next()
            #expect(values?[global] == 4 && reported() == 0)
        }
    }

    @Test("A value outside a key's range is refused by every typed call, and one that is stored is read")
    func ranges() async {
        await #expect(processExitsWith: .success) {
            let problems = ForkSafeMutex<[String]>([])
            UserDefaults.setProblemHandler { problem in problems.withLock { $0.append(problem.description) } }
            let defaults = UserDefaults(inMemory: ["size": 99])
            let size = DefaultsKey("size", default: 12, in: 6...72)
            let scale = DefaultsKey<Double?>("scale", in: 0...)
            #expect(defaults[size] == 99)
            defaults[size] = 20
            defaults[size] = 73
            defaults[size] += 100
            defaults.withTransaction { values in values[size] = 5 }
            #expect(throws: DefaultsProblem.self) { try defaults.update(size) { $0 = 0 } }
            #expect(defaults[size] == 20)
            defaults[scale] = 0.5
            defaults[scale] = -1
            #expect(defaults[scale] == 0.5)
            defaults[scale] = nil
            #expect(defaults[scale] == nil)
            let expected = ["\"size\" must be 6 to 72.", "\"size\" must be 6 to 72.", "\"size\" must be 6 to 72."]
            #expect(problems.withLock { $0 } == expected + ["\"scale\" must be at least 0.0."])
        }
    }
}
