import Foundation

/// A program written for Foundation's class, as existing programs are.
///
/// It is compiled twice, against Foundation's class and against ours, and prints its findings, one per line. Its first
/// argument is a suite's name. With "nil" as the last argument, it makes calls that hang with Foundation's class.
@main
struct ClassicUse {
    static func main() {
        guard CommandLine.arguments.count > 1, let suite = UserDefaults(suiteName: CommandLine.arguments[1]) else {
            print("no suite")
            return
        }
        setting(suite)
        optionals(suite)
        reading(suite)
        removing(suite)
        registering(suite)
        searching(suite)
        volatileDomains(suite)
        persistentDomains(suite)
        instances(suite)
        texts(suite)
        arguments()
        urls(suite)
        show("synchronize", suite.synchronize())
    }

    static func show(_ what: String, _ value: Any?) {
        switch value {
        case let number as Bool: print("\(what) = \(number)")
        case let number as Int: print("\(what) = \(number)")
        case let values as [String: Any]:
            print("\(what) = \(values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" })")
        case let value?: print("\(what) = \(value)")
        case nil: print("\(what) = nil")
        }
    }

    /// Calls every overload of `set`, with arguments that the compiler could find ambiguous.
    static func setting(_ defaults: UserDefaults) {
        defaults.set(5, forKey: "int")
        defaults.set(-5, forKey: "negative")
        defaults.set(5.5, forKey: "double")
        defaults.set(2.5 as Float, forKey: "float")
        defaults.set(true, forKey: "bool")
        defaults.set("text", forKey: "string")
        defaults.set([1, 2], forKey: "ints")
        defaults.set(["a", "b"], forKey: "strings")
        defaults.set([], forKey: "empty")
        defaults.set(["k": "v"], forKey: "dictionary")
        defaults.set(["k": ["l": [1, "m"] as [Any]]] as [String: Any], forKey: "tree")
        defaults.set(Data([1, 2, 3]), forKey: "data")
        defaults.set(Date(timeIntervalSinceReferenceDate: 86_400), forKey: "date")
        defaults.set(UInt8(7) as Any, forKey: "small")
        let anything: Any = "any"
        defaults.set(anything, forKey: "any")
        for key in ["int", "negative", "double", "float", "string", "ints", "strings", "empty", "dictionary", "any"] {
            show("object \(key)", defaults.object(forKey: key) != nil)
        }
    }

    static func optionals(_ defaults: UserDefaults) {
        let text: String? = "some", noText: String? = nil
        let number: Int? = 3, noURL: URL? = nil, nothing: Any? = nil
        defaults.set(text, forKey: "some")
        show("some", defaults.string(forKey: "some"))
        defaults.set(number, forKey: "number")
        show("number", defaults.integer(forKey: "number"))
        // Foundation's `set(nil as URL?, forKey:)` recurses forever, and `set(nil, forKey:)` resolves to it.
        guard CommandLine.arguments.last == "nil" else { return }
        for (key, set) in [
            ("nil", { defaults.set(nil, forKey: $0) }), ("nil string", { defaults.set(noText, forKey: $0) }),
            ("nil url", { defaults.set(noURL, forKey: $0) }), ("nil any", { defaults.set(nothing, forKey: $0) }),
        ] as [(String, (String) -> Void)] {
            defaults.set("before", forKey: key)
            set(key)
            show("removed by \(key)", defaults.object(forKey: key))
        }
    }

    static func reading(_ defaults: UserDefaults) {
        for key in ["int", "negative", "double", "float", "bool", "string", "ints", "data", "date", "missing"] {
            show("string \(key)", defaults.string(forKey: key))
            show("integer \(key)", defaults.integer(forKey: key))
            show("double \(key)", defaults.double(forKey: key))
            show("float \(key)", defaults.float(forKey: key))
            show("bool \(key)", defaults.bool(forKey: key))
            show("data \(key)", defaults.data(forKey: key)?.count)
            show("array \(key)", defaults.array(forKey: key)?.count)
            show("dictionary \(key)", defaults.dictionary(forKey: key)?.count)
            show("stringArray \(key)", defaults.stringArray(forKey: key))
        }
        show("as Int", defaults.object(forKey: "int") as? Int)
        show("as Double", defaults.object(forKey: "double") as? Double)
        show("as Bool", defaults.object(forKey: "bool") as? Bool)
        show("Int as Double", defaults.object(forKey: "int") as? Double)
        show("Float as Float", defaults.object(forKey: "float") as? Float)
        show("Float as Double", defaults.object(forKey: "float") as? Double)
        show("Double as Float", defaults.object(forKey: "double") as? Float)
        show("Bool as Int", defaults.object(forKey: "bool") as? Int)
        show("UInt8 as Int", defaults.object(forKey: "small") as? Int)
        show("ints as [Double]", defaults.array(forKey: "ints") as? [Double])
        show("as String", defaults.object(forKey: "string") as? String)
        show("as Date", (defaults.object(forKey: "date") as? Date)?.timeIntervalSinceReferenceDate)
        show("as [Int]", defaults.array(forKey: "ints") as? [Int])
        show("as [String]", defaults.object(forKey: "strings") as? [String])
        show("as [String: String]", defaults.dictionary(forKey: "dictionary") as? [String: String])
        let tree = defaults.dictionary(forKey: "tree")?["k"] as? [String: Any]
        show("as [String: Any]", (tree?["l"] as? [Any])?.count)
        show("or", defaults.string(forKey: "missing") ?? "or")
    }

    static func removing(_ defaults: UserDefaults) {
        defaults.removeObject(forKey: "int")
        show("after removeObject", defaults.object(forKey: "int"))
        show("integer after removeObject", defaults.integer(forKey: "int"))
    }

    static func registering(_ defaults: UserDefaults) {
        defaults.register(defaults: ["registered": 1, "string": "not this", "other": ["a": 1]])
        defaults.register(defaults: ["registered": 2])
        show("registered", defaults.integer(forKey: "registered"))
        show("string over registered", defaults.string(forKey: "string"))
        show("other", defaults.dictionary(forKey: "other")?.count)
        defaults.set(3, forKey: "registered")
        show("set over registered", defaults.integer(forKey: "registered"))
        defaults.removeObject(forKey: "registered")
        show("registered again", defaults.integer(forKey: "registered"))
        show("registered elsewhere", UserDefaults.standard.integer(forKey: "registered"))
    }

    static func searching(_ defaults: UserDefaults) {
        show("argument", defaults.string(forKey: "argument"))
        show("argument over a set value", defaults.string(forKey: "any"))
        let other = UserDefaults(suiteName: "org.example.other")
        other?.set("from a suite", forKey: "of suite")
        show("before addSuite", defaults.string(forKey: "of suite"))
        defaults.addSuite(named: "org.example.other")
        show("after addSuite", defaults.string(forKey: "of suite"))
        defaults.removeSuite(named: "org.example.other")
        show("after removeSuite", defaults.string(forKey: "of suite"))
        show("representation", defaults.dictionaryRepresentation()["string"] as? String)
        show("representation of registered", defaults.dictionaryRepresentation()["other"] != nil)
        show("representation of an argument", defaults.dictionaryRepresentation()["argument"] as? String)
        show("forced", defaults.objectIsForced(forKey: "string"))
        show("forced in", defaults.objectIsForced(forKey: "string", inDomain: UserDefaults.globalDomain))
    }

    static func volatileDomains(_ defaults: UserDefaults) {
        show("volatile names", defaults.volatileDomainNames.contains(UserDefaults.argumentDomain))
        show("arguments", defaults.volatileDomain(forName: UserDefaults.argumentDomain)["argument"])
        show("registration", defaults.volatileDomain(forName: UserDefaults.registrationDomain)["registered"] as? Int)
        defaults.setVolatileDomain(["a": 1], forName: "Mine")
        show("volatile", defaults.volatileDomain(forName: "Mine"))
        show("not searched", defaults.object(forKey: "a"))
        defaults.setVolatileDomain(["b": 2], forName: "Mine")
        show("replaced", defaults.volatileDomain(forName: "Mine"))
        defaults.removeVolatileDomain(forName: "Mine")
        show("removed", defaults.volatileDomain(forName: "Mine"))
    }

    static func persistentDomains(_ defaults: UserDefaults) {
        let name = "org.example.persistent"
        show("no domain", defaults.persistentDomain(forName: name))
        defaults.setPersistentDomain(["a": 1, "b": "2"], forName: name)
        show("domain", defaults.persistentDomain(forName: name))
        defaults.setPersistentDomain(["c": 3], forName: name)
        show("domain replaced", defaults.persistentDomain(forName: name))
        defaults.removePersistentDomain(forName: name)
        show("domain removed", defaults.persistentDomain(forName: name)?.isEmpty ?? true)
        show("constants", [UserDefaults.globalDomain, UserDefaults.argumentDomain, UserDefaults.registrationDomain])
    }

    static func instances(_ suite: UserDefaults) {
        UserDefaults.resetStandardUserDefaults()
        UserDefaults.standard.set("mine", forKey: "own")
        show("standard", UserDefaults.standard.string(forKey: "own"))
        show("init", UserDefaults().string(forKey: "own"))
        show("init suite nil", UserDefaults(suiteName: nil)?.string(forKey: "own"))
        show("suite is apart", suite.string(forKey: "own"))
        let holders: [UserDefaults: String] = [suite: "suite", .standard: "standard"]
        show("as a key", holders[suite])
        show("equal", suite == suite && suite != .standard)
        show("isEqual", suite.isEqual(suite) && !suite.isEqual(UserDefaults.standard))
        show("isEqual to another", suite.isEqual("a text") || suite.isEqual(nil))
        show("isEqual to one of its name", suite.isEqual(UserDefaults(suiteName: CommandLine.arguments[1])))
        show("description", "\(suite)".hasPrefix("<UserDefaults: ") && suite.description.hasSuffix(">"))
        show("description's name", suite.description.contains(CommandLine.arguments[1]))
    }

    /// Shows the text that `string(forKey:)` returns for numbers.
    static func texts(_ defaults: UserDefaults) {
        for number in [1, 1e15, 1e16, 1e21, 1e-7, 0.1] {
            defaults.set(number, forKey: "real")
            show("text of \(number)", defaults.string(forKey: "real"))
        }
        defaults.removeObject(forKey: "real")
    }

    /// Shows the arguments that the two classes read differently.
    static func arguments() {
        for key in ["white", "-long", "long", "negative", "after", "fragment"] {
            show("argument \(key)", UserDefaults.standard.string(forKey: key).map { "[\($0)]" })
        }
    }

    static func urls(_ defaults: UserDefaults) {
        defaults.set(URL(fileURLWithPath: "/tmp/a b"), forKey: "file")
        show("file", defaults.url(forKey: "file")?.path)
        defaults.set(URL(string: "http://example.com/a?b"), forKey: "web")
        show("web", defaults.url(forKey: "web")?.absoluteString)
        show("no url", defaults.url(forKey: "missing"))
    }
}
