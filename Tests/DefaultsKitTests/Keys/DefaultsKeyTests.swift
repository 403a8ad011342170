import DefaultsKit
import Synchronization
import Testing

extension DefaultsKey where Value == Double {
    fileprivate static var quality: Self { Self("quality", default: 0.8) }
}

extension DefaultsKey where Value == String? {
    fileprivate static var name: Self { Self("name") }
}

@Suite("Typed keys")
struct DefaultsKeyTests {
    /// Takes a key, like the typed functions of UserDefaults.
    private func read<Value>(_ key: DefaultsKey<Value>) -> Value { key.defaultValue }

    @Test("A key can be a static member that is found by the type of its value")
    func members() {
        #expect(read(.quality) == 0.8)
        #expect(read(.name) == nil)
        #expect(DefaultsKey.quality.name == "quality")
    }

    @Test("A key with an optional type may have a default other than nil")
    func optionalDefault() {
        #expect(DefaultsKey<String?>("name", default: "Ada").defaultValue == "Ada")
    }

    @Test("A key evaluates its default at each read")
    func laziness() {
        let calls = Atomic(0)
        let key = DefaultsKey("count", default: calls.wrappingAdd(1, ordering: .relaxed).newValue)
        #expect(calls.load(ordering: .relaxed) == 0)
        #expect(key.defaultValue == 1)
        #expect(key.defaultValue == 2)
    }
}
