import DefaultsKit
import Linux
import PropertyList
import Testing

private enum Theme: String, DefaultsValue { case light, dark }

private enum Preferences {
    static let theme = DefaultsKey("theme", default: Theme.light)
    static let size = DefaultsKey("size", default: 12)
    static let name = DefaultsKey<String?>("name")
    static let all = [AnyDefaultsKey(theme), AnyDefaultsKey(size), AnyDefaultsKey(name)]
}

extension DefaultsKey where Value == Double {
    fileprivate static var quality: Self { Self("quality", default: 0.8) }
}

@Suite("Type-erased keys", .timeLimit(.minutes(1)))
struct AnyDefaultsKeyTests {
    private let defaults = UserDefaults(inMemory: ["theme": "dark", "size": 20, "other": 1])

    @Test("Keys of one type are equal if their names are, regardless of their defaults")
    func hashable() {
        #expect(DefaultsKey("a", default: 1) == DefaultsKey("a", default: 2))
        #expect(DefaultsKey("a", default: 1) != DefaultsKey("b", default: 1))
        #expect(Set([DefaultsKey.quality, DefaultsKey("quality", default: 0)]).count == 1)
    }

    @Test("Type-erased keys are equal if their names and types are")
    func erased() {
        #expect(AnyDefaultsKey(Preferences.size) == AnyDefaultsKey(DefaultsKey("size", default: 0)))
        #expect(AnyDefaultsKey(Preferences.size) != AnyDefaultsKey(DefaultsKey("size", default: 0.0)))
        #expect(Set(Preferences.all + Preferences.all).count == 3)
        #expect(Preferences.all.map(\.name) == ["theme", "size", "name"])
        #expect(ObjectIdentifier(Preferences.all[1].valueType) == ObjectIdentifier(Int.self))
    }

    @Test("Keys in an array are reset as one change set, without affecting other keys")
    func reset() async throws {
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        defaults.reset(Preferences.all)
        #expect(defaults.values() == ["other": 1])
        guard case .change(let change)? = try await changes.next() else {
            Issue.record("The reset wasn't reported as a change.")
            return
        }
        #expect(change.changes.map(\.key) == ["size", "theme"])
        defaults.reset([])
        #expect(defaults.values() == ["other": 1])
    }

    @Test("Keys in an array have common updates with their own types")
    func updates() async {
        var updates = defaults.updates(of: Preferences.all).makeAsyncIterator()
        let first = await updates.next()
        #expect(first?[Preferences.theme] == .dark)
        #expect(first?[Preferences.size] == 20)
        #expect(first?[Preferences.name] == String?.none)
        #expect(first?.values == ["theme": "dark", "size": 20])
        defaults.set(2, forKey: "other")
        defaults.withTransaction { values in
            values[Preferences.theme] = .light
            values[Preferences.name] = "Ada"
        }
        let second = await updates.next()
        #expect(second?.values == ["theme": "light", "size": 20, "name": "Ada"])
    }

    @Test("Registered keys supply their defaults to untyped reads, except for nil")
    func register() {
        defaults.register(.quality, Preferences.theme, Preferences.name)
        #expect(defaults.double(forKey: "quality") == 0.8)
        #expect(defaults.string(forKey: "theme") == "dark")
        defaults.removeObject(forKey: "theme")
        #expect(defaults.string(forKey: "theme") == "light")
        #expect(defaults.object(forKey: "name") == nil)
        #expect(Set(defaults.volatileDomain(forName: UserDefaults.registrationDomain).keys) == ["quality", "theme"])
        defaults.register([AnyDefaultsKey(Preferences.size)])
        defaults.reset(Set(Preferences.all))
        #expect(defaults.integer(forKey: "size") == 12)
    }

    @Test("A default that can't be stored is reported, and the others are registered")
    func unstorableDefault() async {
        struct Unstorable: DefaultsValue {
            struct Refusal: Error {}
            init() {}
            init?(propertyListValue: PropertyListValue) { nil }
            var propertyListValue: PropertyListValue? { get throws { throw Refusal() } }
        }
        await #expect(processExitsWith: .success) {
            let problems = ForkSafeMutex<[DefaultsProblem]>([])
            UserDefaults.setProblemHandler { problem in problems.withLock { $0.append(problem) } }
            let defaults = UserDefaults(inMemory: [:])
            defaults.register(DefaultsKey("unstorable", default: Unstorable()), .quality)
            #expect(problems.withLock(\.self).map(\.code) == [.value])
            #expect(defaults.values() == ["quality": 0.8])
        }
    }
}
