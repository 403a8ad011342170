import DefaultsKit
import Foundation
import PropertyList
import Testing

// This import hides Foundation's class of the same name.
import class DefaultsKit.UserDefaults

extension DefaultsKey where Value == Double {
    fileprivate static var quality: Self { Self("quality", default: 0.8) }
}

extension DefaultsKey where Value == Theme {
    fileprivate static var theme: Self { Self("theme", default: .light) }
}

private enum Preferences {
    static let name = DefaultsKey<String?>("name")
}

private enum Theme: String, DefaultsValue { case light, dark }

private struct Window: Codable, DefaultsValue { var x = 0, y = 0 }

extension DefaultsKey where Value == [Window] {
    fileprivate static var windows: Self { Self("windows", default: []) }
}

private struct Version {
    let text: String

    init?(_ text: String) {
        if text.isEmpty { return nil }
        self.text = text
    }
}

extension Version: DefaultsValue {
    init?(propertyListValue: PropertyListValue) {
        guard let text = String(propertyListValue: propertyListValue) else { return nil }
        self.init(text)
    }
    var propertyListValue: PropertyListValue? { .string(text) }
}

private struct Settings {
    @DefaultsStored("retries", store: store) var retries = 3
    @DefaultsStored(.theme, store: store) var theme

    static let store = UserDefaults(inMemory: [:])
}

/// The documentation's examples, unchanged except for the place where values are stored.
@Suite("Examples in the documentation", .timeLimit(.minutes(1)))
struct DocumentationTests {
    private let defaults = UserDefaults(inMemory: ["quality": 0.5])

    @Test("The example of the classic calls works")
    func classic() {
        defaults.register(defaults: ["fontSize": 12])
        defaults.set(14, forKey: "fontSize")
        #expect(defaults.integer(forKey: "fontSize") == 14)
    }

    @Test("The example of typed keys works")
    func keys() {
        defaults[.quality] += 0.1
        defaults[Preferences.name] = "Ada"
        #expect(defaults.values() == ["quality": 0.6, "name": "Ada"])
        let key = DefaultsKey("window", default: Window())
        defaults[key].x = 5
        #expect(defaults.dictionary(forKey: "window") as? [String: Int] == ["x": 5, "y": 0])
        let version = DefaultsKey<Version?>("version")
        defaults[version] = Version("1.2")
        #expect(defaults[version]?.text == "1.2")
    }

    @Test("The example of a transaction works")
    func transaction() {
        defaults.withTransaction { values in
            values[.quality] = 1
            values[.theme] = .dark
        }
        #expect(defaults.values() == ["quality": 1.0, "theme": "dark"])
    }

    @Test("The example of keys in an array works")
    func keysInArray() async {
        let appearance = [AnyDefaultsKey(.theme), AnyDefaultsKey(.windows)]
        defaults.register(appearance)
        #expect(defaults.string(forKey: "theme") == "light")
        for await values in defaults.updates(of: appearance) {
            #expect(values[.theme] == .light)
            #expect(values[.windows].isEmpty)
            break
        }
        defaults[.theme] = .dark
        defaults.reset(appearance)
        #expect(defaults[.theme] == .light)
    }

    @Test("The example of one key's changes works")
    func keyChanges() async {
        var history: [String] = []
        var changes = defaults.changes(of: .quality).makeAsyncIterator()
        defaults[.quality] = 1
        defaults[.quality] = 0.25
        while history.count < 2, let change = await changes.next() {
            history.append("\(change.oldValue) became \(change.newValue)")
        }
        #expect(history == ["0.5 became 1.0", "1.0 became 0.25"])
    }

    @Test("The example of stored properties works")
    func stored() async {
        let settings = Settings()
        settings.retries += 1
        for await retries in settings.$retries.updates {
            #expect(retries == 4)
            break
        }
        #expect(settings.theme == .light)
    }

    @Test("The example of updates works")
    func updates() async {
        for await quality in defaults.updates(of: .quality) {
            if quality == 1 { break }
            defaults[.quality] = 1
        }
    }

    @Test("The example of changes works")
    func changes() async throws {
        let changes = defaults.changes(in: .application)
        let reader = Task {
            for try await case .change(let changeSet) in changes {
                for change in changeSet.changes {
                    return "\(change.key) \(change.oldValue as Any) \(change.newValue as Any)"
                }
            }
            return ""
        }
        let writer = Task {
            while !Task.isCancelled {
                defaults[.quality] += 1
                await Task.yield()
            }
        }
        let text = try await reader.value
        writer.cancel()
        #expect(text.hasPrefix("quality "))
    }

    @Test("The example of domains works")
    func domains() throws {
        let everywhere = try defaults.domain("org.example.editor")
        let here = try defaults.domain("org.example.editor", host: .current)
        here.set("left", forKey: "dock")
        #expect(everywhere.values.isEmpty)
        #expect(here.values == ["dock": "left"])
    }
}
