import PropertyList
import Synchronization
import Testing

@testable import DefaultsKit

private enum Theme: String, DefaultsValue { case light, dark }

private struct Window: Codable, DefaultsValue, Equatable {
    var x = 0
    var y = 0
    var title: String?
    var tags: [String: [Double]] = [:]
}

extension DefaultsKey where Value == Double {
    fileprivate static var quality: Self { Self("quality", default: 0.8) }
}

extension DefaultsKey where Value == Theme {
    fileprivate static var theme: Self { Self("theme", default: .light) }
}

extension DefaultsKey where Value == Window {
    fileprivate static var window: Self { Self("window", default: Window()) }
}

private enum Preferences {
    static let name = DefaultsKey<String?>("name")
    static let themes = DefaultsKey<[Theme]>("themes", default: [])
}

private struct Settings {
    @Stored var retries: Int
    @Stored var theme: Theme
    @Stored("nick", store: .memory) var nick: String? = nil

    init(_ store: UserDefaults) {
        _retries = Stored(wrappedValue: 3, "retries", store: store)
        _theme = Stored(.theme, store: store)
    }
}

extension UserDefaults {
    fileprivate static let memory = UserDefaults(inMemory: [:])
}

@Suite("A typed key")
struct TypedKeysTests {
    private let defaults = UserDefaults(inMemory: ["quality": 0.5])

    @Test("reads and sets, and has its default when it is unset or isn't of its type")
    func readsAndSets() {
        #expect(defaults[.quality] == 0.5)
        defaults[.quality] += 0.25
        #expect(defaults.double(forKey: "quality") == 0.75)
        defaults.removeObject(forKey: "quality")
        #expect(defaults[.quality] == 0.8)
        defaults.set("high", forKey: "quality")
        #expect(defaults[.quality] == 0.8)
    }

    @Test("of an enumeration is its raw value")
    func enumeration() {
        #expect(defaults[.theme] == .light)
        defaults[.theme] = .dark
        #expect(defaults.string(forKey: "theme") == "dark")
        defaults.set("none", forKey: "theme")
        #expect(defaults[.theme] == .light)
        defaults[Preferences.themes] = [.dark, .light]
        #expect(defaults.stringArray(forKey: "themes") == ["dark", "light"])
    }

    @Test("of an Optional is removed by nil")
    func optional() {
        #expect(defaults[Preferences.name] == nil)
        defaults[Preferences.name] = "Ada"
        #expect(defaults[Preferences.name] == "Ada")
        defaults[Preferences.name] = nil
        #expect(defaults.object(forKey: "name") == nil)
    }

    @Test("of a Codable type is a native tree, changed in place")
    func tree() {
        defaults[.window] = Window(x: 1, y: 2, title: "T", tags: ["a": [1.5]])
        #expect(defaults.propertyListValue(forKey: "window") == ["x": 1, "y": 2, "title": "T", "tags": ["a": [1.5]]])
        defaults[.window].x = 10
        #expect(defaults[.window] == Window(x: 10, y: 2, title: "T", tags: ["a": [1.5]]))
        defaults.set(["x": "7", "y": 8, "tags": [:]] as [String: Any], forKey: "window")
        #expect(defaults[.window] == Window(x: 7, y: 8))
    }

    @Test("is reset to what the next domain has, or to its default")
    func reset() {
        defaults.register(defaults: ["quality": 0.25])
        defaults[.theme] = .dark
        defaults.reset(.quality, .theme, Preferences.name)
        #expect(defaults[.quality] == 0.25)
        #expect(defaults[.theme] == .light)
        defaults.set(1, forKey: "a")
        defaults.set(2, forKey: "b")
        defaults.resetAll()
        #expect(defaults.values() == ["quality": 0.25])
    }

    @Test("is a property with @Stored")
    func stored() {
        let settings = Settings(defaults)
        #expect(settings.retries == 3)
        settings.retries += 1
        #expect(defaults.integer(forKey: "retries") == 4)
        settings.theme = .dark
        #expect(defaults[.theme] == .dark)
        settings.$retries.reset()
        #expect(settings.retries == 3)
        settings.nick = "x"
        #expect(UserDefaults.memory.string(forKey: "nick") == "x")
        #expect(settings.$nick.key.name == "nick")
    }

    @Test("that can't be stored is told of, and left")
    func unstorable() {
        struct Refusing: Codable, DefaultsValue {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        let key = DefaultsKey("key", default: Refusing())
        defaults.set(1, forKey: "key")
        defaults[key] = Refusing()
        #expect(defaults.integer(forKey: "key") == 1)
        defaults.transaction { $0[key] = Refusing() }
        #expect(defaults.integer(forKey: "key") == 1)
    }

    @Test("is set in a transaction with others, which reads its own")
    func transaction() {
        let sum = defaults.transaction { values in
            values[.quality] += 0.25
            values[.theme] = .dark
            values.set("raw", forKey: "raw")
            values.removeObject(forKey: "never there")
            #expect(values.propertyListValue(forKey: "raw") == "raw")
            #expect(defaults[.quality] == 0.5)
            return values[.quality]
        }
        #expect(sum == 0.75)
        #expect(defaults.values() == ["quality": 0.75, "theme": "dark", "raw": "raw"])
    }

    @Test("is not set by a transaction that throws")
    func throwingTransaction() {
        #expect(throws: CancellationError.self) {
            try defaults.transaction { values in
                values[.quality] = 1
                throw CancellationError()
            }
        }
        #expect(defaults[.quality] == 0.5)
    }

    @Test("is explained: who holds it, the winner first")
    func explain() throws {
        defaults.register(defaults: ["quality": 0.1])
        let layers = defaults.explain(.quality)
        #expect(layers.map(\.value) == [0.5, 0.1])
        #expect(layers.last?.kind == .volatile(UserDefaults.registrationDomain))
        let own = try PreferencesDomain(UserDefaults.applicationIdentifier)
        #expect(layers.first?.kind == .persistent(own, path: nil))
        #expect(defaults.explain("missing").isEmpty)
    }
}
