import DefaultsClient
import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

import class DefaultsKit.UserDefaults

@testable import DefaultsKit

/// Tests of what other implementations of UserDefaults get wrong.
@Suite("Differences from other implementations")
struct PeersTests {
    private let defaults = UserDefaults(inMemory: [:])

    @Test("The largest and smallest integers are kept", arguments: [Int.max, .max - 1, .min])
    func largeIntegers(number: Int) {
        defaults.set(number, forKey: "key")
        #expect(defaults.integer(forKey: "key") == number)
        #expect(defaults.object(forKey: "key") as? Int == number)
        #expect(defaults.string(forKey: "key") == "\(number)")
        #expect(defaults.bool(forKey: "key"))
    }

    @Test("Unsigned integers beyond Int.max are kept")
    func unsigned() {
        defaults.set(UInt64.max as Any, forKey: "key")
        #expect(defaults.object(forKey: "key") as? UInt64 == .max)
        #expect(defaults.string(forKey: "key") == "18446744073709551615")
        #expect(defaults.integer(forKey: "key") == .max)
        #expect(defaults.bool(forKey: "key"))
    }

    @Test("The largest integers are kept in files of both formats")
    func storedIntegers() throws {
        try ScratchPlace.with { place in
            for format in [PropertyListFormat.xml, .binary] {
                let path = "\(place.preferences)/app.plist"
                try RawFile.write(try PropertyListValue.dictionary(["old": 1]).write(as: format), to: path)
                let client = try place.client()
                defer { client.close() }
                let defaults = try #require(UserDefaults(suiteName: "app", in: client))
                defaults.set(Int.max, forKey: "max")
                defaults.set(UInt64.max as Any, forKey: "unsigned")
                #expect(defaults.synchronize())
                let stored = try place.read(path)
                #expect(stored == ["old": 1, "max": .integer(.max), "unsigned": .unsigned(.max)])
            }
        }
    }

    @Test("A whole real is converted to a string without a fraction")
    func wholeReal() {
        defaults.set(1.0, forKey: "key")
        #expect(defaults.string(forKey: "key") == "1")
    }

    @Test("A large real is clamped to the range of an integer")
    func largeReal() {
        defaults.set(1e300, forKey: "key")
        #expect(defaults.integer(forKey: "key") == .max)
        defaults.set(-1e300, forKey: "key")
        #expect(defaults.integer(forKey: "key") == .min)
        defaults.set(Double.nan, forKey: "key")
        #expect(defaults.integer(forKey: "key") == 0)
    }

    @Test("An http URL is kept")
    func webURL() {
        let url = URL(string: "http://example.com/a?b")
        defaults.set(url, forKey: "key")
        #expect(defaults.url(forKey: "key") == url)
    }

    @Test("Data that isn't a URL reads as no URL, without a crash")
    func dataAsURL() {
        for bytes in [Data(), Data([1, 2, 3]), Data("bplist00".utf8), Data(repeating: 0xFF, count: 200)] {
            defaults.set(bytes, forKey: "key")
            #expect(defaults.url(forKey: "key") == nil)
        }
    }

    @Test("Arrays and dictionaries are returned without optionals in them")
    func noOptionals() throws {
        defaults.set(["a": [1, "x"] as [Any]] as [String: Any], forKey: "key")
        let dictionary = try #require(defaults.dictionary(forKey: "key"))
        let array = try #require(dictionary["a"] as? [Any])
        #expect(array.map { "\($0)" } == ["1", "x"])
        #expect(type(of: array[0]) == Int.self)
    }

    @Test("Fractions of a second are kept")
    func subseconds() {
        let date = Date(timeIntervalSinceReferenceDate: 0.25)
        defaults.set(date, forKey: "key")
        #expect(defaults.object(forKey: "key") as? Date == date)
    }

    @Test("A value that a property list can't hold is ignored without a crash")
    func unstorable() {
        struct Mine {}
        let before = "before"
        for value in [Mine(), [Mine()], [1: "a"], ["a": Mine()], [nil, 1] as [Int?]] as [Any] {
            defaults.set(before, forKey: "key")
            defaults.set(value, forKey: "key")
            #expect(defaults.string(forKey: "key") == before)
        }
    }

    @Test("A string with control characters is saved so that other programs can read it")
    func controlCharacters() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            defaults.set("a\u{1}b", forKey: "key")
            #expect(defaults.synchronize())
            let data = Data(try RawFile.read("\(place.preferences)/app.plist"))
            let read = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
            #expect(read?["key"] as? String == "a\u{1}b")
        }
    }

    @Test("Any text is accepted as a key", arguments: ["", ".", "a.b.c", "@count", "ключ", "a\nb", "-x"])
    func keys(key: String) {
        defaults.set(1, forKey: key)
        #expect(defaults.integer(forKey: key) == 1)
        #expect(defaults.dictionaryRepresentation()[key] as? Int == 1)
    }

    @Test(
        "The global domain, in each of its spellings, is saved where every program reads it",
        arguments: ["NSGlobalDomain", "Apple Global Domain", "kCFPreferencesAnyApplication", ".GlobalPreferences"])
    func globalDomain(name: String) throws {
        try ScratchPlace.withClient { place, client in
            let global = try #require(UserDefaults(suiteName: name, in: client))
            let application = try #require(UserDefaults(suiteName: "app", in: client))
            #expect(application.object(forKey: "key") == nil)
            global.set("everywhere", forKey: "key")
            #expect(application.string(forKey: "key") == "everywhere")
            #expect(global.synchronize())
            let stored = try place.read("\(place.preferences)/.GlobalPreferences.plist")
            #expect(stored == ["key": "everywhere"])
            #expect(RawFile.exists("\(place.preferences)/\(name).plist") == (name == ".GlobalPreferences"))
            #expect(application.persistentDomain(forName: name)?["key"] as? String == "everywhere")
            #expect(try application.domain(name).values.keys.sorted() == ["key"])
        }
    }

    @Test("Instances with the same name share values immediately")
    func sharedAtOnce() throws {
        try ScratchPlace.withClient { _, client in
            let first = try #require(UserDefaults(suiteName: UserDefaults.applicationIdentifier, in: client))
            let second = try #require(UserDefaults(suiteName: nil, in: client))
            first.set(1, forKey: "key")
            #expect(second.integer(forKey: "key") == 1)
            second.removeObject(forKey: "key")
            #expect(first.object(forKey: "key") == nil)
        }
    }

    @Test("An edit by another program is seen without a call to synchronize")
    func foreignEdit() throws {
        try ScratchPlace.with { place in
            let path = "\(place.preferences)/app.plist"
            try place.write(["key": "old"], to: path)
            let client = try place.client()
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            #expect(defaults.string(forKey: "key") == "old")
            try place.write(["key": "new"], to: path)
            #expect(eventually { defaults.string(forKey: "key") == "new" })
        }
    }

    @Test("The dictionary representation includes arguments, suites, the global domain and registered values")
    func representation() throws {
        try ScratchPlace.with { place in
            try place.write(["global": 1], to: "\(place.preferences)/.GlobalPreferences.plist")
            try place.write(["suite": 1], to: "\(place.preferences)/suite.plist")
            let client = try place.client(arguments: ["-argument", "1"])
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            defaults.addSuite(named: "suite")
            defaults.register(defaults: ["registered": 1])
            #expect(Set(defaults.dictionaryRepresentation().keys) == ["global", "suite", "argument", "registered"])
        }
    }

    @Test("A negative number is accepted as an argument's value")
    func negativeArgument() throws {
        try ScratchPlace.with { place in
            let client = try place.client(arguments: ["-offset", "-5", "--long", "x", "-list", "(1, 2)"])
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            #expect(defaults.integer(forKey: "offset") == -5)
            #expect(defaults.stringArray(forKey: "list") == ["1", "2"])
            #expect(defaults.object(forKey: "-long") == nil)
        }
    }

    @Test("A volatile domain is replaced, and searched only if it is the argument or registration domain")
    func volatileDomains() {
        defaults.setVolatileDomain(["a": 1], forName: "mine")
        defaults.setVolatileDomain(["b": 2], forName: "mine")
        #expect(defaults.volatileDomain(forName: "mine") as? [String: Int] == ["b": 2])
        #expect(defaults.object(forKey: "b") == nil)
        #expect(defaults.volatileDomainNames.contains("mine"))
        defaults.setVolatileDomain(["b": 3], forName: UserDefaults.argumentDomain)
        #expect(defaults.integer(forKey: "b") == 3)
        defaults.setVolatileDomain(["c": 4], forName: UserDefaults.registrationDomain)
        #expect(defaults.integer(forKey: "c") == 4)
        defaults.removeVolatileDomain(forName: UserDefaults.argumentDomain)
        #expect(defaults.object(forKey: "b") == nil)
        defaults.removeVolatileDomain(forName: "mine")
        #expect(defaults.volatileDomain(forName: "mine").isEmpty)
    }

    @Test("A missing persistent domain is nil, and setting one replaces all of its keys")
    func persistentDomains() {
        #expect(defaults.persistentDomain(forName: "none") == nil)
        defaults.setPersistentDomain(["a": 1, "b": 2], forName: "some")
        defaults.setPersistentDomain(["b": 3], forName: "some")
        #expect(defaults.persistentDomain(forName: "some") as? [String: Int] == ["b": 3])
        defaults.removePersistentDomain(forName: "some")
        #expect(defaults.persistentDomain(forName: "some") == nil)
    }

    @Test("A volatile domain's name never leads to a file", arguments: ["NSArgumentDomain", "NSRegistrationDomain"])
    func volatileNames(name: String) throws {
        try ScratchPlace.withClient { place, client in
            #expect(UserDefaults(suiteName: name, in: client)?.domain.name.description != name)
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            defaults.setPersistentDomain(["a": 1], forName: name)
            #expect(defaults.persistentDomain(forName: name) == nil)
            #expect(defaults.synchronize())
            #expect(RawFile.exists("\(place.preferences)/\(name).plist") == false)
        }
    }

    @Test("Any text is accepted as a suite's name", arguments: ["", "a/b", ".hidden", "a\0b"])
    func names(name: String) {
        defaults.addSuite(named: name)
        defaults.setPersistentDomain(["a": 1], forName: name)
        #expect(defaults.persistentDomain(forName: name)?["a"] as? Int == 1)
        #expect(defaults.integer(forKey: "a") == 1)
        defaults.removeSuite(named: name)
        #expect(defaults.object(forKey: "a") == nil)
        #expect(defaults.objectIsForced(forKey: "a", inDomain: name) == false)
    }

    @Test("A file is removed with its last key")
    func emptyFile() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            defaults.set(1, forKey: "key")
            #expect(defaults.synchronize())
            defaults.removeObject(forKey: "key")
            #expect(defaults.synchronize())
            let again = try place.client()
            defer { again.close() }
            let other = try #require(UserDefaults(suiteName: "app", in: again))
            #expect(other.persistentDomain(forName: "app") == nil)
        }
    }
}
