import DefaultsCore
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsKit

/// The names that Foundation's class takes for a suite on Linux, whatever they are.
@Suite("A suite of any name", .timeLimit(.minutes(1)))
struct SuiteNameTests {
    static let names = [
        "MyTests/FileTests.swift", "", ".", "..", ".hidden", "../up", "./here", "~/home", "a/", "a\0b", "100%/a",
        String(repeating: "x", count: 201), String(repeating: "/", count: 1_000),
        UserDefaults.argumentDomain, UserDefaults.registrationDomain,
    ]

    @Test("A suite of any name is read, set and saved in a file of the preferences directory", arguments: names)
    func anyName(name: String) throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: name, in: live))
            defaults.set("value", forKey: "key")
            #expect(defaults.string(forKey: "key") == "value")
            #expect(defaults.synchronize())
            let listed = try PreferencesDirectory(path: place.preferences).domains()
            #expect(listed == [defaults.domain])
            let other = try place.live()
            defer { other.close() }
            #expect(UserDefaults(suiteName: name, in: other)?.string(forKey: "key") == "value")
            let shown = defaults.domain.name.description
            #expect(UserDefaults(suiteName: shown, in: other)?.string(forKey: "key") == "value")
        }
    }

    @Test("The domain calls and the streams reach a suite of any name")
    func domainCalls() async throws {
        let defaults = UserDefaults(inMemory: [:])
        let name = "MyTests/FileTests.swift"
        var changes = defaults.changes(in: .domain(name)).makeAsyncIterator()
        defaults.setPersistentDomain(["a": 1], forName: name)
        #expect(defaults.persistentDomain(forName: name)?["a"] as? Int == 1)
        #expect(try PreferencesDomain(name).keys(in: defaults) == ["a"])
        defaults.addSuite(named: name)
        #expect(defaults.integer(forKey: "a") == 1)
        defaults.removeSuite(named: name)
        #expect(defaults.object(forKey: "a") == nil)
        guard case .change(let change)? = await changes.next() else {
            Issue.record("The edit should be a change.")
            return
        }
        #expect(change.domain.name == "MyTests%2FFileTests.swift")
    }

    @Test("An absolute path is that file, and what others write to it is seen")
    func path() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let path = place.root + "/FileTests.swift"
            let defaults = try #require(UserDefaults(suiteName: path, in: live))
            defaults.set("value", forKey: "key")
            defaults[DefaultsKey("count", default: 0)] += 1
            #expect(defaults.string(forKey: "key") == "value")
            #expect(defaults.synchronize())
            #expect(try place.read(path + ".plist") == ["key": "value", "count": 1])
            #expect(try PreferencesDirectory(path: place.preferences).domains().isEmpty)
            try place.write(["key": "theirs"], to: path + ".plist")
            #expect(defaults.synchronize())
            #expect(defaults.string(forKey: "key") == "theirs")
            // Another instance of the file, by the file's own name.
            let other = try #require(UserDefaults(suiteName: path + ".plist", in: live))
            other.set(5, forKey: "key")
            #expect(defaults.integer(forKey: "key") == 5)
            #expect(defaults.explain("key").map(\.kind.path) == [path + ".plist"])
        }
    }

    @Test("The domain calls reach the file of an absolute path from any instance, and other names from the file's")
    func pathCalls() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let path = place.root + "/file"
            let app = try #require(UserDefaults(suiteName: "app", in: live))
            app.setPersistentDomain(["a": 1], forName: path)
            #expect(app.persistentDomain(forName: path)?["a"] as? Int == 1)
            let defaults = try #require(UserDefaults(suiteName: path, in: live))
            #expect(defaults.values() == ["a": 1])
            defaults.resetAll()
            #expect(app.persistentDomain(forName: path) == nil)
            defaults.set(2, forKey: "a")
            app.removePersistentDomain(forName: path)
            #expect(defaults.object(forKey: "a") == nil)
            // It can't be searched along with others, which is reported, and ends nothing.
            app.addSuite(named: path)
            app.removeSuite(named: path)
        }
    }

    @Test("An absolute path into the preferences directory is the domain of that file")
    func pathOfDomain() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: place.preferences + "/app", in: live))
            defaults.set(1, forKey: "a")
            #expect(UserDefaults(suiteName: "app", in: live)?.integer(forKey: "a") == 1)
            let global = UserDefaults(suiteName: place.preferences + "/.GlobalPreferences.plist", in: live)
            #expect(global?.domain.name == .global)
        }
    }

    @Test("A path that can't be a domain's file, or has no directory, keeps its values in the process at least")
    func unusablePaths() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            for path in ["/", place.root + "/", place.root + "/.hidden", place.root + "/none/file", "/a\0b"] {
                let defaults = try #require(UserDefaults(suiteName: path, in: live))
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
