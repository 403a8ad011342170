import Manifests
import PropertyList
import Testing

/// Reads an old-style property list.
func plist(_ text: String) throws -> PropertyListValue { try PropertyListValue(parsing: Array(text.utf8)) }

/// Reads a manifest with some keys in old-style text, without mistakes.
func manifest(_ keys: String) throws -> Manifest {
    let (manifest, problems) = Manifest.read(try plist("{ pfm_domain = t; pfm_subkeys = (\(keys)); }"))
    #expect(problems.isEmpty, "\(problems)")
    return try #require(manifest)
}

@Suite("Manifests")
struct ManifestTests {
    /// Checks values, in old-style text, against the keys of a manifest; returns the places and rules that are broken.
    private func broken(_ keys: String, _ values: String, changing changed: [String]? = nil) throws -> [String] {
        guard case .dictionary(let values) = try plist(values) else { return [] }
        return try manifest(keys).violations(of: changed ?? Array(values.keys), in: values)
            .map { "\($0.place) \($0.rule.rawValue)" }
    }

    @Test(
        "A value has the type of its key",
        arguments: [
            ("string", "text"), ("integer", "<*I1>"), ("real", "<*R1.5>"), ("real", "<*I1>"), ("float", "<*R1>"),
            ("boolean", "<*BY>"), ("date", "<*D2001-01-01 00:00:00 +0000>"), ("data", "<00>"), ("array", "(a)"),
            ("dictionary", "{ a = b; }"),
        ])
    func types(_ type: String, _ right: String) throws {
        let key = "{ pfm_name = k; pfm_type = \(type); }"
        #expect(try broken(key, "{ k = \(right); }") == [])
        let kinds = ["text", "<*I1>", "<*R1.5>", "<*BY>", "<*D2001-01-01 00:00:00 +0000>", "<00>", "(a)", "{ a = b; }"]
        let allowed = type == "real" || type == "float" ? 2 : 1
        #expect(try kinds.filter { try broken(key, "{ k = \($0); }") == ["k type"] }.count == kinds.count - allowed)
    }

    @Test(
        "A value keeps the rules of its key",
        arguments: [
            (
                "pfm_type = integer; pfm_range_min = <*I1>; pfm_range_max = <*I9>;", ["<*I1>", "<*I9>"],
                ["<*I0>": "minimum", "<*I10>": "maximum"]
            ),
            (
                "pfm_type = real; pfm_range_min = <*R0.5>;", ["<*R0.5>", "<*I1>"],
                ["<*R0.4>": "minimum", "<*I0>": "minimum", "<*Rnan>": "minimum"]
            ),
            (
                "pfm_type = string; pfm_range_min = <*I2>; pfm_range_max = <*I3>;", ["ab", "\"äöü\"", "\"🇩🇪\""],
                ["a": "minimum-length", "abcd": "maximum-length", "\"👩‍👩‍👦\"": "maximum-length"]
            ),
            ("pfm_type = data; pfm_range_max = <*I1>;", ["<00>"], ["<0000>": "maximum-length"]),
            (
                "pfm_type = array; pfm_repetition_min = <*I1>; pfm_repetition_max = <*I2>;", ["(a)", "(a, b)"],
                ["()": "minimum-length", "(a, b, c)": "maximum-length"]
            ),
            (
                "pfm_type = string; pfm_range_list = (a, b);", ["a", "b"],
                ["c": "choice", "A": "choice", "\"\"": "choice"]
            ),
            ("pfm_type = integer; pfm_range_list = (<*I1>, <*I3>);", ["<*I1>"], ["<*I2>": "choice"]),
            ("pfm_type = real; pfm_range_list = (<*R1>, <*R2>);", ["<*R1>", "<*I2>"], ["<*I3>": "choice"]),
            ("pfm_type = string; pfm_range_list = (a); pfm_range_list_allow_custom_value = <*BY>;", ["a", "c"], [:]),
            ("pfm_type = string; pfm_format = \"^[a-c]+$\";", ["abc"], ["abd": "format", "\"\"": "format"]),
            (
                "pfm_type = integer; pfm_flags = <*BY>; pfm_range_list = (<*I1>, <*I2>, <*I8>);",
                ["<*I0>", "<*I3>", "<*I11>"], ["<*I4>": "flags", "<*I-1>": "flags"]
            ),
        ] as [(String, [String], [String: String])])
    func rules(_ rules: String, _ right: [String], _ wrong: [String: String]) throws {
        let key = "{ pfm_name = k; \(rules) }"
        for value in right { #expect(try broken(key, "{ k = \(value); }") == [], "\(value)") }
        for (value, rule) in wrong { #expect(try broken(key, "{ k = \(value); }") == ["k \(rule)"], "\(value)") }
    }

    @Test("The elements of an array keep the rules of their places, the last of which is for all further ones")
    func arrays() throws {
        let one = "{ pfm_name = k; pfm_type = array; pfm_subkeys = ({ pfm_type = integer; pfm_range_max = <*I5>; }); }"
        #expect(try broken(one, "{ k = (<*I1>, <*I5>); }") == [])
        #expect(try broken(one, "{ k = (<*I1>, <*I6>, a); }") == ["k[1] maximum", "k[2] type"])
        let places = """
            { pfm_name = k; pfm_type = array; pfm_range_min = <*I2>; pfm_range_max = <*I2>;
              pfm_subkeys = ({ pfm_type = integer; }, { pfm_type = string; }); }
            """
        #expect(try broken(places, "{ k = (<*I1>, a); }") == [])
        #expect(try broken(places, "{ k = (a, <*I1>); }") == ["k[0] type", "k[1] type"])
        #expect(try broken(places, "{ k = (<*I1>, a, b); }") == ["k maximum-length"])
    }

    @Test("The entries of a dictionary keep the rules of their keys")
    func dictionaries() throws {
        let key = """
            { pfm_name = k; pfm_type = dictionary; pfm_subkeys = (
              { pfm_name = Host; pfm_type = string; pfm_require = always; },
              { pfm_name = Port; pfm_type = integer; }); }
            """
        #expect(try broken(key, "{ k = { Host = h; Port = <*I1>; }; }") == [])
        #expect(try broken(key, "{ k = { Prot = <*I1>; }; }") == ["k.Prot unknown", "k.Host required"])
        let free = """
            { pfm_name = k; pfm_type = dictionary; pfm_subkeys = (
              { pfm_name = "{{key}}"; pfm_type = string; pfm_format = "^[a-z]+$"; },
              { pfm_name = "{{value}}"; pfm_type = integer; },
              { pfm_name = Fixed; pfm_type = string; }); }
            """
        #expect(try broken(free, "{ k = { a = <*I1>; b = <*I2>; Fixed = x; }; }") == [])
        #expect(
            try broken(free, "{ k = { A = <*I1>; b = x; Fixed = <*I1>; }; }") == [
                "k.A format", "k.Fixed type", "k.b type",
            ])
        #expect(try broken("{ pfm_name = k; pfm_type = dictionary; }", "{ k = { a = b; }; }") == [])
    }

    @Test("A key that the manifest doesn't describe is unknown, unless the manifest describes any key")
    func unknownKeys() throws {
        let key = "{ pfm_name = FontSize; pfm_type = integer; }"
        #expect(try broken(key, "{ Fontsize = <*I1>; }") == ["Fontsize unknown"])
        #expect(try broken(key, "{}", changing: ["Fontsize"]) == [])
        let free =
            key + ", { pfm_name = \"{{key}}\"; pfm_type = string; }, { pfm_name = \"{{value}}\"; pfm_type = string; }"
        #expect(try broken(free, "{ Fontsize = a; }") == [])
        #expect(try broken(free, "{ Fontsize = <*I1>; }") == ["Fontsize type"])
    }

    @Test("A required key may not be removed, but may be missing while others change")
    func required() throws {
        let keys = "{ pfm_name = a; pfm_type = string; pfm_require = always; }, { pfm_name = b; pfm_type = string; }"
        #expect(try broken(keys, "{ b = x; }") == [])
        #expect(try broken(keys, "{ b = x; }", changing: ["a"]) == ["a required"])
        #expect(try broken("{ pfm_name = a; pfm_type = string; pfm_require = push; }", "{}", changing: ["a"]) == [])
    }

    @Test(
        "A key is required, or has no effect, while a condition holds",
        arguments: [
            ("pfm_range_list = (a);", ["{ t = a; }"], ["{ t = b; }"]),
            ("pfm_n_range_list = (a);", ["{ t = b; }"], ["{ t = a; }", "{}"]),
            ("pfm_range_list = (a, b);", ["{ t = (a, b); }"], ["{ t = (a, c); }"]),
            ("pfm_contains_any = (a);", ["{ t = (b, a); }", "{ t = a; }"], ["{ t = (b); }"]),
            ("pfm_n_contains_any = (a);", ["{ t = (b); }"], ["{ t = (a, b); }"]),
            ("pfm_present = <*BY>;", ["{ t = x; }"], ["{}"]), ("pfm_present = <*BN>;", ["{}"], ["{ t = x; }"]),
            ("pfm_value_empty = <*BY>;", ["{ t = \"\"; }"], ["{ t = a; }"]),
        ])
    func conditions(_ test: String, _ holding: [String], _ others: [String]) throws {
        func keys(_ entry: String) -> String {
            """
            { pfm_name = t; }, { pfm_name = k; pfm_type = string; \(entry) = (
              { pfm_require = always; pfm_target_conditions = ({ pfm_target = t; \(test) }); }); }
            """
        }
        func values(_ values: String, with key: String) -> String { "{ \(key) \(values.dropFirst())" }
        func broken(_ entry: String, _ values: String) throws -> [String] {
            let (manifest, _) = Manifest.read(try plist("{ pfm_subkeys = (\(keys(entry))); }"))
            guard case .dictionary(let values) = try plist(values) else { return [] }
            // The other key has changed.
            return try #require(manifest).violations(of: ["t"], in: values).map { "\($0.place) \($0.rule.rawValue)" }
        }
        for value in holding {
            #expect(try broken("pfm_exclude", values(value, with: "k = x;")) == ["k excluded"], "\(value)")
            #expect(try broken("pfm_exclude", value) == [], "\(value)")
            #expect(try broken("pfm_conditionals", value) == ["k required"], "\(value)")
            #expect(try broken("pfm_conditionals", values(value, with: "k = x;")) == [], "\(value)")
        }
        for value in others {
            #expect(try broken("pfm_exclude", values(value, with: "k = x;")) == [], "\(value)")
            #expect(try broken("pfm_conditionals", value) == [], "\(value)")
        }
    }

    @Test("A key has no effect if one of several conditions holds, and is required if all of a group hold")
    func severalConditions() throws {
        let tests = "{ pfm_target = t; pfm_present = <*BN>; pfm_range_list = (a); }"
        let excluded = """
            { pfm_name = t; pfm_type = string; }, { pfm_name = k; pfm_type = string;
              pfm_exclude = ({ pfm_target_conditions = (\(tests)); }); }
            """
        #expect(try broken(excluded, "{ k = x; }") == ["k excluded"])
        #expect(try broken(excluded, "{ k = x; t = a; }") == ["k excluded"])
        #expect(try broken(excluded, "{ k = x; t = b; }") == [])
        let both = "{ pfm_target = t; pfm_range_list = (a); }, { pfm_target = u; pfm_range_list = (b); }"
        let required = """
            { pfm_name = t; pfm_type = string; }, { pfm_name = u; pfm_type = string; },
            { pfm_name = k; pfm_type = string;
              pfm_conditionals = ({ pfm_require = always; pfm_target_conditions = (\(both)); }); }
            """
        #expect(try broken(required, "{ t = a; u = b; }") == ["k required"])
        #expect(try broken(required, "{ t = a; u = c; }") == [])
        #expect(try broken(required, "{ t = a; }") == [])
    }

    @Test("The words for any key are themselves no keys of the domain")
    func freeWords() throws {
        let free = """
            { pfm_name = "{{key}}"; pfm_type = string; pfm_format = "^[a-z]+$"; },
            { pfm_name = "{{value}}"; pfm_type = integer; }
            """
        #expect(try broken(free, "{ \"{{key}}\" = x; }") == ["{{key}} format", "{{key}} type"])
        let inside = "{ pfm_name = k; pfm_type = dictionary; pfm_subkeys = (\(free)); }"
        #expect(try broken(inside, "{ k = { \"{{value}}\" = x; }; }") == ["k.{{value}} format", "k.{{value}} type"])
    }

    @Test("What was broken before inside a value, and stays, isn't broken by a change of the rest")
    func changes() throws {
        let manifest = try manifest(
            """
            { pfm_name = k; pfm_type = dictionary; pfm_subkeys = (
              { pfm_name = a; pfm_type = integer; pfm_range_max = <*I5>; }, { pfm_name = b; pfm_type = string; }); }
            """)
        func broken(_ old: [String: PropertyListValue], _ new: [String: PropertyListValue]) -> [String] {
            manifest.violations(of: ["k"], from: ["k": .dictionary(old)], to: ["k": .dictionary(new)]).map(\.place)
        }
        #expect(broken(["a": 9, "old": 1], ["a": 9, "old": 1, "b": "x"]) == [])
        #expect(broken(["a": 9], ["a": 10]) == ["k.a"])
        #expect(broken(["a": 9], ["a": 9, "new": 1]) == ["k.new"])
        #expect(broken([:], ["a": 9]) == ["k.a"])
    }

    @Test("Names inside what is secret aren't in a violation")
    func secretNames() throws {
        let names = "{ pfm_name = \"{{key}}\"; pfm_type = string; pfm_format = \"^[a-z]+$\"; }"
        let whole = "{ pfm_name = k; pfm_type = dictionary; pfm_sensitive = <*BY>; pfm_subkeys = (\(names)); }"
        #expect(try broken(whole, "{ k = { SECRET = 1; }; }") == ["k format"])
        let secretNames = names.replacing("pfm_type = string", with: "pfm_type = string; pfm_sensitive = <*BY>")
        let only = "{ pfm_name = k; pfm_type = dictionary; pfm_subkeys = (\(secretNames)); }"
        #expect(try broken(only, "{ k = { SECRET = 1; }; }") == ["k format"])
        let settings = try manifest(only).settings(of: ["k": ["secret": 1]])
        #expect(settings == ["k": [:]])
    }

    @Test("An entry of a secret dictionary is secret")
    func secretEntries() throws {
        let manifest = try manifest(
            """
            { pfm_name = k; pfm_type = dictionary; pfm_sensitive = <*BY>; pfm_subkeys = (
              { pfm_name = Host; pfm_type = string; }); }
            """)
        #expect(
            manifest.key(at: "k.Host")?.key.isSensitive == true && manifest.key(at: "k.Host")?.path == ["k", "Host"])
        #expect(manifest.key(at: "k.Other") == nil && manifest.key(at: String(repeating: "k.", count: 40)) == nil)
    }

    @Test("A condition of a key may look at the key itself")
    func ownCondition() throws {
        let key = """
            { pfm_name = k; pfm_type = string;
              pfm_exclude = ({ pfm_target_conditions = ({ pfm_target = k; pfm_range_list = (a); }); }); }
            """
        #expect(try broken(key, "{ k = a; }") == ["k excluded"])
        #expect(try broken(key, "{ k = b; }") == [])
    }

    @Test("A condition inside a dictionary on a key of the domain needs that key's value")
    func outwardConditions() throws {
        let manifest = try manifest(
            """
            { pfm_name = Use; pfm_type = boolean; },
            { pfm_name = Proxy; pfm_type = dictionary; pfm_subkeys = ({ pfm_name = Port; pfm_type = integer;
              pfm_exclude = ({ pfm_target_conditions = ({ pfm_target = Use; pfm_present = <*BY>; }); }); }); }
            """)
        #expect(manifest.needsOthers(for: ["Proxy"]) && !manifest.needsOthers(for: ["Use"]))
    }

    @Test("A manifest with too many keys isn't used at all, since those left out may be secret")
    func tooManyKeys() throws {
        let keys = PropertyListValue.array(
            (0...20_000).map { ["pfm_name": .string("k\($0)"), "pfm_type": "string"] })
        let (found, problems) = Manifest.read(["pfm_subkeys": keys])
        #expect(found == nil && problems.map(\.description) == ["The manifest has more than 20000 keys."])
    }

    @Test("Of a key that is described twice, both descriptions say what is secret")
    func secretTwice() throws {
        let key = "{ pfm_name = k; pfm_type = string; }"
        let secret = "{ pfm_name = k; pfm_type = string; pfm_sensitive = <*BY>; }"
        let (found, problems) = Manifest.read(try plist("{ pfm_subkeys = (\(key), \(secret)); }"))
        #expect(found?.isSensitive("k") == true && problems.count == 1)
    }

    @Test("A list of values is for the elements of an array, too")
    func choicesOfArrays() throws {
        let key = "{ pfm_name = k; pfm_type = array; pfm_range_list = (a, b); }"
        #expect(try broken(key, "{ k = (a, b, a); }") == [])
        #expect(try broken(key, "{ k = (a, c); }") == ["k choice"])
    }

    @Test("Names of any key are checked even if nothing is said about the values")
    func namesOnly() throws {
        let names = "{ pfm_name = \"{{key}}\"; pfm_type = string; pfm_format = \"^[a-z]+$\"; }"
        #expect(try broken(names, "{ good = 1; BAD = 1; }") == ["BAD format"])
        let inside = "{ pfm_name = k; pfm_type = dictionary; pfm_subkeys = (\(names)); }"
        #expect(try broken(inside, "{ k = { good = 1; BAD = 1; }; }") == ["k.BAD format"])
    }

    @Test("A value that is too large to be checked is reported, and what matters isn't hidden by what doesn't")
    func bounds() throws {
        let slow = try manifest(
            "{ pfm_name = k; pfm_type = array; pfm_subkeys = ({ pfm_type = string; pfm_format = \"^(a?){900}$\"; }); }")
        let long = PropertyListValue.array(Array(repeating: .string(String(repeating: "a", count: 600)), count: 1_000))
        #expect(!slow.violations(of: ["k"], in: ["k": long]).isEmpty)
        // Each of many keys is checked.
        let free = try manifest(
            "{ pfm_name = \"{{value}}\"; pfm_type = string; pfm_format = \"^[a-z]+$\"; }")
        let text = PropertyListValue.string(String(repeating: "a", count: 100))
        let thousands = Dictionary(uniqueKeysWithValues: (0..<5_000).map { ("k\($0)", text) })
        #expect(free.violations(of: thousands.keys, in: thousands) == [])
        // Expensive formats are bounded wherever they are.
        let words = String(repeating: "\\w", count: 490)
        let classes = try manifest("{ pfm_name = k; pfm_type = string; pfm_format = \"[\(words)]\"; }")
        let marks = PropertyListValue.string(String(repeating: "!", count: 50_000))
        #expect(classes.violations(of: ["k"], in: ["k": marks]).map(\.rule) == [.size])
        let subkeys = (0..<2_000).map { "{ pfm_name = s\($0); pfm_type = string; }" }.joined(separator: ", ")
        let element = "{ pfm_type = dictionary; pfm_subkeys = (\(subkeys)); }"
        let wide = try manifest("{ pfm_name = k; pfm_type = array; pfm_subkeys = (\(element)); }")
        let empty = PropertyListValue.array(Array(repeating: [:], count: 20_000))
        #expect(wide.violations(of: ["k"], in: ["k": empty]).map(\.rule) == [.size])
        let size = try manifest("{ pfm_name = Size; pfm_type = integer; pfm_range_max = <*I72>; }")
        var values: [String: PropertyListValue] = ["Size": 99]
        for number in 0..<200 { values["A\(number)"] = 1 }
        let rules = Set(Violation.Rule.allCases).subtracting([.unknown])
        #expect(size.violations(of: values.keys, in: values, limitedTo: rules).map(\.key) == ["Size"])
        let many = (0..<3_000).map { "v\($0)" }.joined(separator: ", ")
        let list = try manifest("{ pfm_name = k; pfm_type = string; pfm_range_list = (\(many)); }")
        #expect(list.violations(of: ["k"], in: ["k": "x"]).map(\.limit) == [nil])
    }

    @Test("A target with many names, or keys whose names have many dots, take no time to find")
    func longTargets() throws {
        let target = String(repeating: "a.", count: 20_000) + "b"
        let condition =
            "pfm_exclude = ({ pfm_target_conditions = ({ pfm_target = \"\(target)\"; pfm_present = <*BY>; }); });"
        let (_, problems) = Manifest.read(
            try plist("{ pfm_subkeys = ({ pfm_name = k; pfm_type = string; \(condition) }); }"))
        #expect(problems.count == 1)
        var key = PropertyListValue.dictionary(["pfm_name": "a", "pfm_type": "dictionary"])
        for _ in 0..<20 {
            let names = ["a", "a.a", "a.a.a"].map { name -> PropertyListValue in
                guard case .dictionary(var entries) = key else { return key }
                entries["pfm_name"] = .string(name)
                return .dictionary(entries)
            }
            key = ["pfm_name": "a", "pfm_type": "dictionary", "pfm_subkeys": .array([names[0]])]
        }
        let exclusion: PropertyListValue = [
            [
                "pfm_target_conditions": [
                    ["pfm_target": .string(String(repeating: "a.", count: 15) + "b"), "pfm_present": true]
                ]
            ]
        ]
        let (found, others) = Manifest.read([
            "pfm_subkeys": [key, ["pfm_name": "k", "pfm_type": "string", "pfm_exclude": exclusion]]
        ])
        #expect(found != nil && others.count == 1)
    }

    @Test("A mark of a secret that isn't understood, or that may have been lost, counts")
    func uncertainSecrets() throws {
        for keys in [
            "{ pfm_name = k; pfm_type = string; pfm_sensitive = YES; }",
            "{ pfm_name = k; pfm_type = dictionary; pfm_subkeys = (torn); }",
        ] {
            let (found, problems) = Manifest.read(try plist("{ pfm_subkeys = (\(keys)); }"))
            #expect(found?.sensitiveKeys == ["k"] && problems.count == 1)
        }
        let any = try manifest("{ pfm_name = \"{{value}}\"; pfm_type = string; pfm_sensitive = <*BY>; }")
        #expect(any.isSensitive("whatever"))
    }

    @Test("Settings leave out secrets, and an array whose places would move")
    func settings() throws {
        let manifest = try manifest(
            """
            { pfm_name = t; pfm_type = array; pfm_subkeys = ({ pfm_type = string; },
              { pfm_type = string; pfm_sensitive = <*BY>; }, { pfm_type = integer; }); },
            { pfm_name = d; pfm_type = dictionary; pfm_subkeys = ({ pfm_name = a; pfm_type = string; },
              { pfm_name = b; pfm_type = string; pfm_sensitive = <*BY>; }); }
            """)
        // Secret parts can't be found in a value of another type.
        #expect(manifest.settings(of: ["t": "s", "d": [["b": "y"]]]) == [:])
        #expect(manifest.settings(of: ["t": ["h", "s", 5], "d": ["a": "x", "b": "y"]]) == ["d": ["a": "x"]])
    }

    @Test("A condition on a key without a value looks at its default")
    func conditionsOnDefaults() throws {
        let keys = """
            { pfm_name = Proxy; pfm_type = boolean; pfm_default = <*BN>; },
            { pfm_name = Host; pfm_type = string;
              pfm_exclude = ({ pfm_target_conditions = ({ pfm_target = Proxy; pfm_range_list = (<*BN>); }); }); }
            """
        #expect(try broken(keys, "{ Host = h; }") == ["Host excluded"])
        #expect(try broken(keys, "{ Host = h; Proxy = <*BY>; }") == [])
    }

    @Test("A condition inside an array looks at the same element")
    func conditionsInElements() throws {
        for target in ["list.item.kind", "item.kind", "kind"] {
            let keys = """
                { pfm_name = list; pfm_type = array; pfm_subkeys = (
                  { pfm_name = item; pfm_type = dictionary; pfm_subkeys = (
                  { pfm_name = kind; pfm_type = string; },
                  { pfm_name = more; pfm_type = dictionary; pfm_subkeys = ({ pfm_name = path; pfm_type = string;
                    pfm_exclude = ({ pfm_target_conditions = (
                      { pfm_target = \(target); pfm_range_list = (url); }); }); }); }
                ); }); }
                """
            let values = """
                { list = ({ kind = url; more = { path = a; }; }, { kind = file; more = { path = b; }; }); }
                """
            #expect(try broken(keys, values) == ["list[0].more.path excluded"], "\(target)")
        }
    }

    /// Returns a key with a condition.
    private static func excluded(by condition: String) -> String {
        "{ pfm_name = k; pfm_type = string; pfm_exclude = ({ pfm_target_conditions = ({ \(condition) }); }); }"
    }

    @Test(
        "A mistake in a manifest is named with its place, and leaves the rest usable",
        arguments: [
            ("{ pfm_name = k; }", "Key \"k\" has no pfm_type"),
            ("{ pfm_name = k; pfm_type = url; }", "Key \"k\", pfm_type must be one of string, integer"),
            ("{ pfm_type = string; }", "pfm_subkeys has no pfm_name in its key 1"),
            (
                "{ pfm_name = k; pfm_type = integer; pfm_range_min = 1; }",
                "Key \"k\", pfm_range_min must be a number, not a string"
            ),
            (
                "{ pfm_name = k; pfm_type = integer; pfm_range_min = <*I2>; pfm_range_max = <*I1>; }",
                "more than the maximum"
            ),
            ("{ pfm_name = k; pfm_type = string; pfm_range_list = (a); pfm_default = b; }", "must be one of \"a\""),
            ("{ pfm_name = k; pfm_type = boolean; pfm_default = YES; }", "must be a Boolean"),
            ("{ pfm_name = k; pfm_type = integer; pfm_range_list = (a); }", "for a key of type integer"),
            ("{ pfm_name = k; pfm_type = string; pfm_range_list = a; }", "pfm_range_list must be an array"),
            (
                "{ pfm_name = k; pfm_type = string; pfm_range_list = (a, b); pfm_range_list_titles = (A); }",
                "1 titles for 2"
            ),
            (
                "{ pfm_name = k; pfm_type = string; pfm_format = \"(?=a)\"; }",
                "look-ahead is not supported, at character 1"
            ),
            ("{ pfm_name = k; pfm_type = integer; pfm_format = a; }", "only for strings"),
            ("{ pfm_name = k; pfm_type = string; pfm_flags = <*BY>; }", "only for whole numbers"),
            ("{ pfm_name = k; pfm_type = string; pfm_scope = all; }", "pfm_scope must be \"roaming\""),
            (
                "{ pfm_name = k; pfm_type = string; pfm_hidden = <*I1>; }",
                "pfm_hidden must be a Boolean, not a whole number"
            ),
            ("{ pfm_name = k; pfm_type = string; pfm_title = (a); }", "pfm_title must be a string, not an array"),
            ("{ pfm_name = k; pfm_type = string; pfm_require = yes; }", "pfm_require must be \"always\""),
            (
                "{ pfm_name = k; pfm_type = string; pfm_subkeys = ({ pfm_type = string; }); }",
                "only for arrays and dictionaries"
            ),
            ("{ pfm_name = k; pfm_type = string; }, { pfm_name = k; pfm_type = string; }", "has \"k\" more than once"),
            ("{ pfm_name = k; pfm_type = string; pfm_exclude = (a); }", "pfm_target_conditions"),
            (
                Self.excluded(by: "pfm_target = x; pfm_present = <*BY>;"),
                "has a condition on \"x\""
            ),
            (
                Self.excluded(by: "pfm_present = <*BY>;"),
                "without a pfm_target"
            ),
            (
                Self.excluded(by: "pfm_target = k; pfm_present = a;"),
                "a Boolean for pfm_present"
            ),
            (
                "{ pfm_name = d; pfm_type = dictionary; pfm_subkeys = ({ pfm_name = k; pfm_type = x; }); }",
                "Key \"d.k\", pfm_type"
            ),
            ("a", "element 1 is not a dictionary"),
        ])
    func mistakes(_ keys: String, _ message: String) throws {
        let good = "{ pfm_name = good; pfm_type = integer; }"
        let (found, problems) = Manifest.read(try plist("{ pfm_subkeys = (\(keys), \(good)); }"))
        #expect(problems.count == 1)
        #expect(problems.first.map { "\($0)".contains(message) } == true, "\(problems)")
        let violations = try #require(found).violations(of: ["good"], in: ["good": "text"])
        #expect(violations.map(\.rule) == [.type])
    }

    @Test("What isn't a manifest is refused")
    func noManifest() throws {
        for text in ["(a)", "{ a = b; }", "text"] {
            let (manifest, problems) = Manifest.read(try plist(text))
            #expect(manifest == nil)
            #expect(problems.count == 1)
        }
    }

    @Test("Keys nested a thousand levels deep are left out, and named")
    func deepKeys() throws {
        var key = PropertyListValue.dictionary(["pfm_name": "k", "pfm_type": "dictionary"])
        for _ in 0..<1_000 {
            key = ["pfm_name": "k", "pfm_type": "dictionary", "pfm_subkeys": [key]]
        }
        let (manifest, problems) = Manifest.read(["pfm_subkeys": [key]])
        #expect(manifest?.keys.count == 1)
        #expect(problems.map(\.message).contains { $0.contains("more than 64 levels") })
    }

    @Test("Defaults include those of the keys in a dictionary")
    func defaults() throws {
        let manifest = try manifest(
            """
            { pfm_name = a; pfm_type = integer; pfm_default = <*I1>; }, { pfm_name = b; pfm_type = string; },
            { pfm_name = c; pfm_type = dictionary; pfm_subkeys = (
              { pfm_name = d; pfm_type = string; pfm_default = x; }); }
            """)
        #expect(manifest.defaults == ["a": 1, "c": ["d": "x"]])
    }

    @Test("A key is sensitive if something in it is")
    func sensitive() throws {
        let manifest = try manifest(
            """
            { pfm_name = a; pfm_type = string; pfm_sensitive = <*BY>; }, { pfm_name = b; pfm_type = string; },
            { pfm_name = c; pfm_type = array; pfm_subkeys = ({ pfm_type = string; pfm_sensitive = <*BY>; }); }
            """)
        #expect(manifest.sensitiveKeys == ["a", "c"])
    }

    @Test("A violation is a sentence about what would be right, without the value")
    func sentences() throws {
        let manifest = try manifest(
            """
            { pfm_name = Size; pfm_type = integer; pfm_range_max = <*I72>; },
            { pfm_name = Theme; pfm_type = string; pfm_range_list = (light, dark); },
            { pfm_name = Tabs; pfm_type = array; pfm_subkeys = ({ pfm_type = dictionary; pfm_subkeys = (
              { pfm_name = Name; pfm_type = string; }); }); }
            """)
        let values: [String: PropertyListValue] = ["Size": 99, "Theme": "pink", "Tabs": [["Name": 1]]]
        #expect(
            manifest.violations(of: values.keys, in: values).map(\.description) == [
                "\"Size\" must be at most 72.", "\"Tabs[0].Name\" must be a string.",
                "\"Theme\" must be one of \"light\", \"dark\".",
            ])
    }

    @Test("Typed keys have the domain, and the range if Swift can express it")
    func declarations() throws {
        let manifest = try manifest(
            """
            { pfm_name = a; pfm_type = integer; pfm_default = <*I3>; pfm_range_min = <*I-5>; pfm_range_max = <*I72>; },
            { pfm_name = b; pfm_type = real; pfm_range_max = <*I-1>; },
            { pfm_name = d; pfm_type = string; pfm_range_max = <*I9>; }
            """)
        let lines = SwiftKeys(manifest, of: "x.y").source().split(separator: "\n")
        #expect(
            lines.filter { $0.contains("= DefaultsKey") }.map { $0.drop { $0 != "=" }.dropFirst(2) } == [
                "DefaultsKey<Int>(\"a\", default: 3, in: (-5)...72, domain: domain)",
                "DefaultsKey<Double?>(\"b\", in: ...(-1), domain: domain)",
                "DefaultsKey<String?>(\"d\", domain: domain)",
            ])
        // A pattern is many domains.
        #expect(!SwiftKeys(manifest, of: "x.*").source().contains("domain: domain"))
    }

    @Test("The keys of domains whose names end alike have types with different names")
    func distinctTypes() throws {
        let manifest = try manifest("{ pfm_name = k; pfm_type = string; }")
        func type(_ domain: String, _ others: [String]) -> Substring? {
            SwiftKeys(manifest, of: domain, beside: others).source().split(separator: "\n").first {
                $0.hasPrefix("enum")
            }
        }
        #expect(type("org.a.editor", ["org.a.viewer"]) == "enum EditorPreferences {")
        #expect(type("org.a.editor", ["org.b.editor"]) == "enum AEditorPreferences {")
        #expect(type("org.b.editor", ["org.a.editor", "editor"]) == "enum BEditorPreferences {")
        #expect(type("editor", ["org.a.editor"]) == "enum EditorPreferences {")
    }
}
