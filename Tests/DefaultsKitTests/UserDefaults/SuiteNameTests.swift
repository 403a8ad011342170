import DefaultsClient
import DefaultsCore
import Dispatch
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsKit

/// Names that Foundation's class accepts for a suite on Linux, without exception.
@Suite("Suites with any name", .timeLimit(.minutes(1)))
struct SuiteNameTests {
    static let names = [
        "MyTests/FileTests.swift", "", ".", "..", ".hidden", "../up", "./here", "~/home", "a/", "a\0b", "100%/a",
        String(repeating: "x", count: 201), String(repeating: "/", count: 1_000),
        UserDefaults.argumentDomain, UserDefaults.registrationDomain,
    ]

    @Test("A suite with any name can be read, set and saved in the preferences directory", arguments: names)
    func anyName(name: String) throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: name, in: client))
            defaults.set("value", forKey: "key")
            #expect(defaults.string(forKey: "key") == "value")
            #expect(defaults.synchronize())
            let listed = try PreferencesDirectory(path: place.preferences).domains()
            #expect(listed == [defaults.domain])
            let other = try place.client()
            defer { other.close() }
            #expect(UserDefaults(suiteName: name, in: other)?.string(forKey: "key") == "value")
            let shown = defaults.domain.name.description
            #expect(UserDefaults(suiteName: shown, in: other)?.string(forKey: "key") == "value")
        }
    }

    @Test("Domain calls and streams work for a suite with any name")
    func domainCalls() async throws {
        let defaults = UserDefaults(inMemory: [:])
        let name = "MyTests/FileTests.swift"
        var changes = defaults.changes(in: .domain(name)).makeAsyncIterator()
        defaults.setPersistentDomain(["a": 1], forName: name)
        #expect(defaults.persistentDomain(forName: name)?["a"] as? Int == 1)
        #expect(try defaults.domain(name).values.keys.sorted() == ["a"])
        defaults.addSuite(named: name)
        #expect(defaults.integer(forKey: "a") == 1)
        defaults.removeSuite(named: name)
        #expect(defaults.object(forKey: "a") == nil)
        guard case .change(let change)? = try await changes.next() else {
            Issue.record("The edit wasn't reported as a change.")
            return
        }
        #expect(change.domain.name == "MyTests%2FFileTests.swift")
    }

    @Test("A suite named by an absolute path uses that file and sees other programs' changes to it")
    func path() throws {
        try ScratchPlace.withClient { place, client in
            let path = place.root + "/FileTests.swift"
            let defaults = try #require(UserDefaults(suiteName: path, in: client))
            defaults.set("value", forKey: "key")
            defaults[DefaultsKey("count", default: 0)] += 1
            #expect(defaults.string(forKey: "key") == "value")
            #expect(defaults.synchronize())
            #expect(try place.read(path + ".plist") == ["key": "value", "count": 1])
            #expect(try PreferencesDirectory(path: place.preferences).domains().isEmpty)
            try place.write(["key": "theirs"], to: path + ".plist")
            #expect(defaults.synchronize())
            #expect(defaults.string(forKey: "key") == "theirs")
            // Another instance for the file, with the file's own name.
            let other = try #require(UserDefaults(suiteName: path + ".plist", in: client))
            other.set(5, forKey: "key")
            #expect(defaults.integer(forKey: "key") == 5)
            #expect(defaults.layers(holding: "key").map(\.kind.path) == [path + ".plist"])
        }
    }

    @Test("A released file costs no thread and no descriptor, once its edits are saved")
    func released() throws {
        try ScratchPlace.withClient { place, client in
            for number in 1...3 {
                let path = place.root + "/document"
                weak var released: Client?
                do {
                    let defaults = try #require(UserDefaults(suiteName: path, in: client))
                    released = defaults.client
                    defaults.set(number, forKey: "number")
                    #expect(defaults.integer(forKey: "number") == number)
                    if number == 2 { defaults.synchronize() }
                }
                #expect(eventually { released == nil })
                let file = try PropertyListValue(parsing: RawFile.read(path + ".plist"))
                #expect(file == ["number": .integer(Int64(number))])
            }
        }
    }

    @Test("A file that is used while its thread ends has its values")
    func usedAgain() throws {
        try ScratchPlace.withClient { place, client in
            let path = place.root + "/document"
            DispatchQueue.concurrentPerform(iterations: 4) { task in
                for number in 0..<50 {
                    let defaults = UserDefaults(suiteName: path, in: client)
                    defaults?.set(number, forKey: "task\(task)")
                    if number.isMultiple(of: 7) { #expect(defaults?.synchronize() == true) }
                    #expect(defaults?.integer(forKey: "task\(task)") == number)
                }
            }
            let defaults = try #require(UserDefaults(suiteName: path, in: client))
            #expect((0..<4).map { defaults.integer(forKey: "task\($0)") } == [49, 49, 49, 49])
        }
    }

    @Test("All readers that use a file again after its thread has ended get its present values")
    func readTogether() throws {
        try ScratchPlace.withClient { place, client in
            let path = place.root + "/document"
            // Registered values retain the client.
            let (files, domain): (Client, Domain)
            do {
                let defaults = try #require(UserDefaults(suiteName: path, in: client))
                defaults.register(defaults: ["key": "value"])
                (files, domain) = (defaults.client, defaults.domain)
            }
            for number in 1...20 {
                try place.write(["number": .integer(Int64(number))], to: path + ".plist")
                DispatchQueue.concurrentPerform(iterations: 4) { _ in
                    #expect(UserDefaults(suiteName: path, in: client)?.integer(forKey: "number") == number)
                }
                #expect(eventually { files.values(of: domain).isEmpty })
            }
        }
    }

    @Test("Registered values of files stay when the last instance is released")
    func registered() throws {
        try ScratchPlace.withClient { place, client in
            let path = place.root + "/document"
            UserDefaults(suiteName: path, in: client)?.register(defaults: ["key": "value"])
            #expect(UserDefaults(suiteName: path, in: client)?.string(forKey: "key") == "value")
            try place.write(["key": "theirs"], to: path + ".plist")
            #expect(eventually { UserDefaults(suiteName: path, in: client)?.string(forKey: "key") == "theirs" })
        }
    }

    @Test("Domain calls reach the file of an absolute path, and that file's instance reaches other domains")
    func pathCalls() throws {
        try ScratchPlace.withClient { place, client in
            let path = place.root + "/file"
            let app = try #require(UserDefaults(suiteName: "app", in: client))
            app.setPersistentDomain(["a": 1], forName: path)
            #expect(app.persistentDomain(forName: path)?["a"] as? Int == 1)
            let defaults = try #require(UserDefaults(suiteName: path, in: client))
            #expect(defaults.values() == ["a": 1])
            defaults.resetAll()
            #expect(app.persistentDomain(forName: path) == nil)
            defaults.set(2, forKey: "a")
            app.removePersistentDomain(forName: path)
            #expect(defaults.object(forKey: "a") == nil)
            // The file can't be added to a search list. The call reports that and does nothing else.
            app.addSuite(named: path)
            app.removeSuite(named: path)
        }
    }

    @Test("An absolute path to a file in the preferences directory is that file's domain")
    func pathOfDomain() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: place.preferences + "/app", in: client))
            defaults.set(1, forKey: "a")
            #expect(UserDefaults(suiteName: "app", in: client)?.integer(forKey: "a") == 1)
            let global = UserDefaults(suiteName: place.preferences + "/.GlobalPreferences.plist", in: client)
            #expect(global?.domain.name == .global)
        }
    }

    @Test("A suite whose path is unusable keeps its values within the process")
    func unusablePaths() throws {
        try ScratchPlace.withClient { place, client in
            for path in ["/", place.root + "/", place.root + "/.hidden", place.root + "/none/file", "/a\0b"] {
                let defaults = try #require(UserDefaults(suiteName: path, in: client))
                defaults.set(1, forKey: "a")
                #expect(defaults.integer(forKey: "a") == 1)
                #expect(defaults.synchronize() != path.hasSuffix("/none/file"))
            }
        }
    }
}

extension ExplainedLayer.Kind {
    fileprivate var path: String? { if case .persistent(_, let path) = self { path } else { nil } }
}
