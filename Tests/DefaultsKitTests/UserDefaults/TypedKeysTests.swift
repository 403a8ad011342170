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
    @DefaultsStored var retries: Int
    @DefaultsStored var theme: Theme
    @DefaultsStored("nick", store: .memory) var nick: String? = nil

    init(_ store: UserDefaults) {
        _retries = DefaultsStored(wrappedValue: 3, "retries", store: store)
        _theme = DefaultsStored(.theme, store: store)
    }
}

extension UserDefaults {
    fileprivate static let memory = UserDefaults(inMemory: [:])
}

@Suite("Access by typed keys")
struct TypedKeysTests {
    private let defaults = UserDefaults(inMemory: ["quality": 0.5])

    @Test("A typed key reads and sets values, and has its default if the value is missing or has another type")
    func readsAndSets() {
        #expect(defaults[.quality] == 0.5)
        defaults[.quality] += 0.25
        #expect(defaults.double(forKey: "quality") == 0.75)
        defaults.removeObject(forKey: "quality")
        #expect(defaults[.quality] == 0.8)
        defaults.set("high", forKey: "quality")
        #expect(defaults[.quality] == 0.8)
    }

    @Test("An enumeration is stored as its raw value")
    func enumeration() {
        #expect(defaults[.theme] == .light)
        defaults[.theme] = .dark
        #expect(defaults.string(forKey: "theme") == "dark")
        defaults.set("none", forKey: "theme")
        #expect(defaults[.theme] == .light)
        defaults[Preferences.themes] = [.dark, .light]
        #expect(defaults.stringArray(forKey: "themes") == ["dark", "light"])
    }

    @Test("Setting an optional key to nil removes it")
    func optional() {
        #expect(defaults[Preferences.name] == nil)
        defaults[Preferences.name] = "Ada"
        #expect(defaults[Preferences.name] == "Ada")
        defaults[Preferences.name] = nil
        #expect(defaults.object(forKey: "name") == nil)
    }

    @Test("A Codable value is stored as a property list and can be changed in place")
    func tree() {
        defaults[.window] = Window(x: 1, y: 2, title: "T", tags: ["a": [1.5]])
        #expect(defaults.propertyListValue(forKey: "window") == ["x": 1, "y": 2, "title": "T", "tags": ["a": [1.5]]])
        defaults[.window].x = 10
        #expect(defaults[.window] == Window(x: 10, y: 2, title: "T", tags: ["a": [1.5]]))
        defaults.set(["x": "7", "y": 8, "tags": [:]] as [String: Any], forKey: "window")
        #expect(defaults[.window] == Window(x: 7, y: 8))
    }

    @Test("Resetting a key reveals the next domain's value or the key's default")
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

    @Test("A property with @DefaultsStored reads and sets its key")
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

    @Test("A value that can't be encoded leaves the stored value unchanged")
    func unstorable() {
        struct Refusing: Codable, DefaultsValue {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        let key = DefaultsKey("key", default: Refusing())
        defaults.set(1, forKey: "key")
        defaults[key] = Refusing()
        #expect(defaults.integer(forKey: "key") == 1)
        defaults.withTransaction { $0[key] = Refusing() }
        #expect(defaults.integer(forKey: "key") == 1)
    }

    @Test("A transaction sets several keys and reads its own changes")
    func transaction() {
        let sum = defaults.withTransaction { values in
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

    @Test("A transaction that throws sets nothing")
    func throwingTransaction() {
        #expect(throws: CancellationError.self) {
            try defaults.withTransaction { values in
                values[.quality] = 1
                throw CancellationError()
            }
        }
        #expect(defaults[.quality] == 0.5)
    }

    @Test("The layers that hold a key are listed in search order")
    func explain() throws {
        defaults.register(defaults: ["quality": 0.1])
        let layers = defaults.layers(holding: .quality)
        #expect(layers.map(\.value) == [0.5, 0.1])
        #expect(layers.last?.kind == .volatile(UserDefaults.registrationDomain))
        let own = try defaults.domain(UserDefaults.applicationIdentifier)
        #expect(layers.first?.kind == .persistent(own, path: nil))
        #expect(defaults.layers(holding: "missing").isEmpty)
    }
}
