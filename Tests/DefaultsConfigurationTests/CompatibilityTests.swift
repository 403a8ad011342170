#if Configuration
import Configuration
import ConfigurationTesting
import DefaultsConfiguration
import DefaultsKit
import PropertyList
import Testing

@Suite("Compatibility with swift-configuration", .timeLimit(.minutes(1)))
struct CompatibilityTests {
    /// The values that `ProviderCompatTest` expects.
    private static let values: [String: PropertyListValue] = [
        "string": "Hello", "other.string": "Other Hello",
        "int": 42, "other.int": 24,
        "double": 3.14, "other.double": 2.72,
        "bool": true, "other.bool": false,
        "bytes": .data(magic), "other.bytes": .data(magic2),
        "stringy.array": ["Hello", "World"], "other.stringy.array": ["Hello", "Swift"],
        "inty.array": [42, 24], "other.inty.array": [16, 32],
        "doubly.array": [3.14, 2.72], "other.doubly.array": [0.9, 1.8],
        "booly.array": [true, false], "other.booly.array": [false, true, true],
        "byteChunky.array": [.data(magic), .data(magic2)],
        "other.byteChunky.array": [.data(magic), .data(magic2), .data(magic)],
    ]

    private static let magic = Array("magic".utf8)
    private static let magic2 = Array("magic2".utf8)

    @Test("The provider passes swift-configuration's compatibility test with literal keys")
    func literalKeys() async throws {
        let provider = UserDefaultsProvider(UserDefaults(inMemory: Self.values))
        try await ProviderCompatTest(provider: provider).runTest()
    }

    @Test("The provider passes swift-configuration's compatibility test with nested dictionaries")
    func nestedKeys() async throws {
        var nested: [String: PropertyListValue] = [:]
        for (key, value) in Self.values {
            Self.insert(value, at: key.split(separator: ".").map(String.init)[...], in: &nested)
        }
        #expect(nested["other"] != nil)
        let provider = UserDefaultsProvider(UserDefaults(inMemory: nested))
        try await ProviderCompatTest(provider: provider).runTest()
    }

    private static func insert(
        _ value: PropertyListValue, at path: ArraySlice<String>, in values: inout [String: PropertyListValue]
    ) {
        guard let first = path.first else { return }
        if path.count == 1 {
            values[first] = value
            return
        }
        var inner: [String: PropertyListValue] = [:]
        if case .dictionary(let present)? = values[first] { inner = present }
        insert(value, at: path.dropFirst(), in: &inner)
        values[first] = .dictionary(inner)
    }
}
#endif
