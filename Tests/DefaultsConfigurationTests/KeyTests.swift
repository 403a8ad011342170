#if Configuration
import Configuration
import DefaultsConfiguration
import DefaultsKit
import PropertyList
import Testing

@Suite("Configuration keys")
struct KeyTests {
    private func read(_ key: ConfigKey, _ values: [String: PropertyListValue]) -> String? {
        ConfigReader(provider: UserDefaultsProvider(UserDefaults(inMemory: values))).string(forKey: key)
    }

    @Test("A key is looked up literally before it is treated as a path")
    func literalFirst() {
        let nested: PropertyListValue = ["b": ["c": "path"], "b.c": "literal below"]
        #expect(read("a.b.c", ["a.b.c": "literal", "a": nested, "a.b": ["c": "between"]]) == "literal")
        #expect(read("a.b.c", ["a": nested, "a.b": ["c": "between"]]) == "between")
        #expect(read("a.b.c", ["a": nested, "a.b": ["d": "other"]]) == "literal below")
        #expect(read("a.b.c", ["a": ["b": ["c": "path"]]]) == "path")
        #expect(read("a.b.c", ["a": "no dictionary", "a.b": 1]) == nil)
        #expect(read(["a.b", "c"], ["a": ["b": ["c": "path"]]]) == "path")
    }

    @Test("A key of many components is found quickly in dictionaries that share contents", .timeLimit(.minutes(1)))
    func sharedDictionaries() {
        // There are 2^40 paths through them.
        var values: [String: PropertyListValue] = ["z": 1]
        for _ in 0..<40 { values = ["a": .dictionary(values), "a.a": .dictionary(values)] }
        #expect(read(ConfigKey(Array(repeating: "a", count: 60)), values) == nil)
    }

    @Test("A scoped reader prefixes its keys with the scope")
    func scope() {
        let config = ConfigReader(provider: UserDefaultsProvider(UserDefaults(inMemory: ["http": ["port": 80]])))
        #expect(config.scoped(to: "http").int(forKey: "port") == 80)
    }

    @Test("Keys with no components, empty components or consecutive periods are found only if they exist")
    func oddKeys() {
        #expect(read([], ["a": "b"]) == nil)
        #expect(read(["", ""], ["": ["": "empty"]]) == "empty")
        #expect(read(["a", "", "b"], ["a": [".b": "odd"]]) == "odd")
        #expect(read([], ["": "nameless"]) == "nameless")
    }

    @Test("A key is found in every layer of the search list, after the environment")
    func precedence() {
        let defaults = UserDefaults(inMemory: ["http.port": 80])
        defaults.register(defaults: ["http.host": "localhost", "http.port": 1])
        let environment = EnvironmentVariablesProvider(environmentVariables: ["HTTP_TIMEOUT": "5"])
        let config = ConfigReader(providers: [environment, UserDefaultsProvider(defaults)])
        #expect(config.int(forKey: "http.port") == 80)
        #expect(config.string(forKey: "http.host") == "localhost")
        #expect(config.int(forKey: "http.timeout") == 5)
        defaults.set(7, forKey: "http.timeout")
        #expect(config.int(forKey: "http.timeout") == 5)
    }

    @Test("A key is secret if the specifier says so, by its whole name and its value")
    func secrets() throws {
        let defaults = UserDefaults(inMemory: ["database": ["password": "hunter2", "name": "x"], "token": "secret:1"])
        let provider = UserDefaultsProvider(
            defaults,
            secretsSpecifier: .dynamic { key, value in
                if case .string(let text) = value, text.hasPrefix("secret:") { return true }
                return key == "database.password"
            })
        let snapshot = provider.snapshot()
        for (key, isSecret) in [("database.password", true), ("database.name", false), ("token", true)] {
            let key = AbsoluteConfigKey(ConfigKey(key))
            #expect(try provider.value(forKey: key, type: .string).value?.isSecret == isSecret)
            #expect(try snapshot.value(forKey: key, type: .string).value?.isSecret == isSecret)
        }
        #expect("\(snapshot)" == "UserDefaultsProvider[2 values]")
        #expect(String(reflecting: snapshot) == "UserDefaultsProvider[2 values]")
    }

    @Test("A provider's name appears in its description")
    func name() {
        let defaults = UserDefaults(inMemory: [:])
        #expect(UserDefaultsProvider(defaults).providerName == "UserDefaultsProvider")
        #expect("\(UserDefaultsProvider(defaults, name: "suite"))" == "UserDefaultsProvider[suite]")
    }
}
#endif
