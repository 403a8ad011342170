import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing
import class DefaultsKit.UserDefaults

@testable import DefaultsKit

/// What other implementations get wrong, each a test; found in `research/preference-systems.md` §2.2 and §3.
@Suite("Unlike peers, UserDefaults")
struct PeersTests {
    private let defaults = UserDefaults(inMemory: [:])

    @Test("keep the largest integers", arguments: [Int.max, .max - 1, .min])
    func largeIntegers(number: Int) {
        defaults.set(number, forKey: "key")
        #expect(defaults.integer(forKey: "key") == number)
        #expect(defaults.object(forKey: "key") as? Int == number)
        #expect(defaults.string(forKey: "key") == "\(number)")
        #expect(defaults.bool(forKey: "key"))
    }

    @Test("keep unsigned integers beyond Int.max")
    func unsigned() {
        defaults.set(UInt64.max as Any, forKey: "key")
        #expect(defaults.object(forKey: "key") as? UInt64 == .max)
        #expect(defaults.string(forKey: "key") == "18446744073709551615")
        #expect(defaults.integer(forKey: "key") == .max)
        #expect(defaults.bool(forKey: "key"))
    }

    @Test("keep the largest integers in the file, in both formats")
    func storedIntegers() throws {
        try ScratchPlace.with { place in
            for format in [PropertyListFormat.xml, .binary] {
                let path = "\(place.preferences)/app.plist"
                try RawFile.write(try PropertyListValue.dictionary(["old": 1]).write(as: format), to: path)
                let live = try place.live()
                defer { live.close() }
                let defaults = try #require(UserDefaults(suiteName: "app", in: live))
                defaults.set(Int.max, forKey: "max")
                defaults.set(UInt64.max as Any, forKey: "unsigned")
                #expect(defaults.synchronize())
                let stored = try place.read(path)
                #expect(stored == ["old": 1, "max": .integer(.max), "unsigned": .unsigned(.max)])
            }
        }
    }

    @Test("write a whole real without a fraction")
    func wholeReal() {
        defaults.set(1.0, forKey: "key")
        #expect(defaults.string(forKey: "key") == "1")
    }

    @Test("clamp a large real instead of turning it over")
    func largeReal() {
        defaults.set(1e300, forKey: "key")
        #expect(defaults.integer(forKey: "key") == .max)
        defaults.set(-1e300, forKey: "key")
        #expect(defaults.integer(forKey: "key") == .min)
        defaults.set(Double.nan, forKey: "key")
        #expect(defaults.integer(forKey: "key") == 0)
    }

    @Test("keep an http URL")
    func webURL() {
        let url = URL(string: "http://example.com/a?b")
        defaults.set(url, forKey: "key")
        #expect(defaults.url(forKey: "key") == url)
    }

    @Test("read no URL from data that is none, and live")
    func dataAsURL() {
        for bytes in [Data(), Data([1, 2, 3]), Data("bplist00".utf8), Data(repeating: 0xFF, count: 200)] {
            defaults.set(bytes, forKey: "key")
            #expect(defaults.url(forKey: "key") == nil)
        }
    }

    @Test("return arrays and dictionaries without Optional in them")
    func noOptionals() throws {
        defaults.set(["a": [1, "x"] as [Any]] as [String: Any], forKey: "key")
        let dictionary = try #require(defaults.dictionary(forKey: "key"))
        let array = try #require(dictionary["a"] as? [Any])
        #expect(array.map { "\($0)" } == ["1", "x"])
        #expect(type(of: array[0]) == Int.self)
    }

    @Test("keep fractions of a second")
    func subseconds() {
        let date = Date(timeIntervalSinceReferenceDate: 0.25)
        defaults.set(date, forKey: "key")
        #expect(defaults.object(forKey: "key") as? Date == date)
    }

    @Test("keep a value that no property list holds out, and live")
    func unstorable() {
        struct Mine {}
        let before = "before"
        for value in [Mine(), [Mine()], [1: "a"], ["a": Mine()], [nil, 1] as [Int?]] as [Any] {
            defaults.set(before, forKey: "key")
            defaults.set(value, forKey: "key")
            #expect(defaults.string(forKey: "key") == before)
        }
    }

    @Test("keep control characters in a string readable by others")
    func controlCharacters() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            defaults.set("a\u{1}b", forKey: "key")
            #expect(defaults.synchronize())
            let data = Data(try RawFile.read("\(place.preferences)/app.plist"))
            let read = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
            #expect(read?["key"] as? String == "a\u{1}b")
        }
    }

    @Test("accept any text as a key", arguments: ["", ".", "a.b.c", "@count", "ключ", "a\nb", "-x"])
    func keys(key: String) {
        defaults.set(1, forKey: key)
        #expect(defaults.integer(forKey: key) == 1)
        #expect(defaults.dictionaryRepresentation()[key] as? Int == 1)
    }

    @Test("write the global domain where every program reads it")
    func globalDomain() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let global = try #require(UserDefaults(suiteName: "NSGlobalDomain", in: live))
            let application = try #require(UserDefaults(suiteName: "app", in: live))
            #expect(application.object(forKey: "key") == nil)
            global.set("everywhere", forKey: "key")
            #expect(application.string(forKey: "key") == "everywhere")
            #expect(global.synchronize())
            let stored = try place.read("\(place.preferences)/.GlobalPreferences.plist")
            #expect(stored == ["key": "everywhere"])
            #expect(RawFile.exists("\(place.preferences)/NSGlobalDomain.plist") == false)
        }
    }

    @Test("share values at once between instances of one name")
    func sharedAtOnce() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let first = try #require(UserDefaults(suiteName: UserDefaults.applicationIdentifier, in: live))
            let second = try #require(UserDefaults(suiteName: nil, in: live))
            first.set(1, forKey: "key")
            #expect(second.integer(forKey: "key") == 1)
            second.removeObject(forKey: "key")
            #expect(first.object(forKey: "key") == nil)
        }
    }

    @Test("see an edit by another program without being asked to")
    func foreignEdit() throws {
        try ScratchPlace.with { place in
            let path = "\(place.preferences)/app.plist"
            try place.write(["key": "old"], to: path)
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            #expect(defaults.string(forKey: "key") == "old")
            try place.write(["key": "new"], to: path)
            #expect(eventually { defaults.string(forKey: "key") == "new" })
        }
    }

    @Test("list in the representation what they search: arguments, suites, the global domain, registered values")
    func representation() throws {
        try ScratchPlace.with { place in
            try place.write(["global": 1], to: "\(place.preferences)/.GlobalPreferences.plist")
            try place.write(["suite": 1], to: "\(place.preferences)/suite.plist")
            let live = try place.live(arguments: ["-argument", "1"])
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            defaults.addSuite(named: "suite")
            defaults.register(defaults: ["registered": 1])
            #expect(Set(defaults.dictionaryRepresentation().keys) == ["global", "suite", "argument", "registered"])
        }
    }

    @Test("take a negative number as an argument's value")
    func negativeArgument() throws {
        try ScratchPlace.with { place in
            let live = try place.live(arguments: ["-offset", "-5", "--long", "x", "-list", "(1, 2)"])
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            #expect(defaults.integer(forKey: "offset") == -5)
            #expect(defaults.stringArray(forKey: "list") == ["1", "2"])
            #expect(defaults.object(forKey: "-long") == nil)
        }
    }

    @Test("replace a volatile domain, and search none but the arguments' and the registered one")
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

    @Test("have no persistent domain where there is none, and replace all keys of one")
    func persistentDomains() {
        #expect(defaults.persistentDomain(forName: "none") == nil)
        defaults.setPersistentDomain(["a": 1, "b": 2], forName: "some")
        defaults.setPersistentDomain(["b": 3], forName: "some")
        #expect(defaults.persistentDomain(forName: "some") as? [String: Int] == ["b": 3])
        defaults.removePersistentDomain(forName: "some")
        #expect(defaults.persistentDomain(forName: "some") == nil)
    }

    @Test("make no file of a volatile domain's name", arguments: ["NSArgumentDomain", "NSRegistrationDomain"])
    func volatileNames(name: String) throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            #expect(UserDefaults(suiteName: name, in: live)?.domain.name.description != name)
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            defaults.setPersistentDomain(["a": 1], forName: name)
            #expect(defaults.persistentDomain(forName: name) == nil)
            #expect(defaults.synchronize())
            #expect(RawFile.exists("\(place.preferences)/\(name).plist") == false)
        }
    }

    @Test("UserDefaults takes any text for a suite's name", arguments: ["", "a/b", ".hidden", "a\0b"])
    func names(name: String) {
        defaults.addSuite(named: name)
        defaults.setPersistentDomain(["a": 1], forName: name)
        #expect(defaults.persistentDomain(forName: name)?["a"] as? Int == 1)
        #expect(defaults.integer(forKey: "a") == 1)
        defaults.removeSuite(named: name)
        #expect(defaults.object(forKey: "a") == nil)
        #expect(defaults.objectIsForced(forKey: "a", inDomain: name) == false)
    }

    @Test("remove a file that has no keys left")
    func emptyFile() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            defaults.set(1, forKey: "key")
            #expect(defaults.synchronize())
            defaults.removeObject(forKey: "key")
            #expect(defaults.synchronize())
            let again = try place.live()
            defer { again.close() }
            let other = try #require(UserDefaults(suiteName: "app", in: again))
            #expect(other.persistentDomain(forName: "app") == nil)
        }
    }
}
