import Testing

/// Keys that lead into values, and keys that contain dots.
@Suite("Key paths of the command")
struct KeyPathTests {
    /// The arguments of a command that sets up a domain with nested values.
    private static let nested = [
        "write", "a.b", "{a = {b = (x, {c = y;}); \"d.e\" = z;}; s = text; \"p.q\" = 1; \"r.s\" = {t = u;};}",
    ]
    private static func json(_ key: String...) -> [String] { ["read", "--json", "a.b"] + key }

    static let reading: [CommandCase] = [
        .prints(nested, ["read", "a.b", "a.b.0"], output: "x"),
        .prints(nested, ["read", "a.b", "a.b.1.c"], output: "y"),
        .prints(nested, json("a.b"), output: #"["x",{"c":"y"}]"#),
        .prints(nested, ["read", "a.b", "p.q"], output: "1"),
        .prints(nested, ["read", "a.b", #"p\.q"#], output: "1"),
        .prints(nested, ["read", "a.b", #"a.d\.e"#], output: "z"),
        .prints(nested, ["read", "a.b", "r.s.t"], output: "u"),
        .prints(nested, ["read", "a.b", #"r\.s.t"#], output: "u"),
        .prints(nested, ["read", "--key-path", "a.b", "a.b.0"], output: "x"),
        .prints(nested, ["read", "--literal-key", "a.b", "p.q"], output: "1"),
        .prints(nested, ["read-type", "--literal-key", "a.b", "p.q"], output: "Type is string"),
        .fails(
            nested, ["read", "--literal-key", "a.b", "a.b.0"], status: 1, "The domain a.b has no key \"a.b.0\"."),
        .fails(
            nested, ["read", "--literal-key", "--key-path", "a.b", "p.q"], status: 64,
            "Use only one of --key-path and --literal-key. See `defaults help read`."),
        .prints(nested, ["read-type", "a.b", "a.b.1"], output: "Type is dictionary"),
        .prints(nested, ["read-type", "--key-path", "a.b", #"p\.q"#], output: "Type is string"),
        // An existing key wins. An escape or --key-path reaches past it.
        .prints(nested, ["write", "a.b", "p", "{q = 2;}"], ["read", "a.b", "p.q"], output: "1"),
        .prints(nested, ["write", "a.b", "p", "{q = 2;}"], ["read", "--key-path", "a.b", "p.q"], output: "2"),
        .prints(
            ["import", "a.b", "-"], ["read", "a.b", #"a\\b"#], output: "1", input: #"{"a\\b" = 1; "a\\\\b" = 2;}"#),
        .prints(
            ["import", "a.b", "-"], ["read", "a.b", #"a\b"#], output: "1", input: #"{"a\\b" = 1; "a\\\\b" = 2;}"#),
        .prints(
            ["import", "a.b", "-"], ["read", "a.b", #"a\\\\b"#], output: "2", input: #"{"a\\b" = 1; "a\\\\b" = 2;}"#),
        .fails(
            nested, ["read", "a.b", "a.b.2"], status: 1,
            "\"a.b\" in the domain a.b has 2 elements, counted from 0, so there is no element 2."),
        .fails(
            nested, ["read", "a.b", "a.b.99999999999999999999"], status: 1,
            "\"a.b\" in the domain a.b has 2 elements, counted from 0, so there is no element 99999999999999999999."),
        .fails(
            nested, ["read", "a.b", "a.b.-1"], status: 1,
            "\"a.b\" in the domain a.b is an array, and \"-1\" is not an index."),
        .fails(nested, ["read", "a.b", "a.x.y"], status: 1, "\"a\" in the domain a.b has no key \"x\"."),
        .fails(nested, ["read", "a.b", "a."], status: 1, "\"a\" in the domain a.b has no key \"\"."),
        .fails(
            nested, ["read", "a.b", "a.b.0.y"], status: 65,
            "\"a.b.0\" in the domain a.b is of type string, not an array or dictionary, so it has no \"y\"."),
        .fails(nested, ["read", "a.b", "s.x"], status: 1, "The domain a.b has no key \"s.x\"."),
        .fails(nested, ["read", "a.b", "n.x"], status: 1, "The domain a.b has no key \"n.x\"."),
        .fails(nested, ["read", "--key-path", "a.b", "n.x"], status: 1, "The domain a.b has no key \"n\"."),
        .fails(nested, ["read", "a.b", #"n\.x.y"#], status: 1, "The domain a.b has no key \"n.x\"."),
        .fails(
            nested, ["read", "a.b", "\(String(repeating: "a.", count: 256))a"], status: 64,
            "The key path has 257 components; the limit is 256."),
    ]

    /// Returns a case that writes and then reads the value at `a`.
    private static func written(_ arguments: [String], _ output: String) -> CommandCase {
        .prints(["write", "a.b", "a", "{b = (x);}"], ["write"] + arguments, json("a"), output: output)
    }

    static let writing: [CommandCase] = [
        written(["a.b", "a.b.0", "-int", "5"], #"{"b":[5]}"#), written(["a.b", "a.b.1", "y"], #"{"b":["x","y"]}"#),
        written(["a.b", "a.b", "y"], #"{"b":"y"}"#),
        written(["a.b", "a.c.d.e", "y"], #"{"b":["x"],"c":{"d":{"e":"y"}}}"#),
        written(["a.b", "a.b.1.k", "y"], #"{"b":["x",{"k":"y"}]}"#),
        written(["a.b", "a.b", "-array-add", "y", "z"], #"{"b":["x","y","z"]}"#),
        written(["a.b", "a", "-dict-add", "c", "-int", "1"], #"{"b":["x"],"c":1}"#),
        written(["a.b", "a.new", "-dict-add", "c", "d"], #"{"b":["x"],"new":{"c":"d"}}"#),
        written(["a.b", #"a.d\.e"#, "y"], #"{"b":["x"],"d.e":"y"}"#),
        written(["--literal-key", "a.b", "a.b", "y"], #"{"b":["x"]}"#),
        .prints(
            ["write", "a.b", "a", "{b = 1;}"], ["write", "--literal-key", "a.b", "a.b", "2"],
            ["write", "a.b", "--literal-key", #"a\.b"#, "3"],
            ["write", "--json", "--literal-key", "a.b", "--", "--x.y", "4"], json(),
            output: #"{"--x.y":4,"a":{"b":"1"},"a.b":"2","a\\.b":"3"}"#),
        // A path that leads nowhere is a plain key, as on a Mac.
        .prints(
            ["write", "-g", "com.apple.swipescrolldirection", "-bool", "no"],
            ["read", "-g", "com.apple.swipescrolldirection"], output: "0"),
        .prints(["write", "a.b", "x.y", "1"], ["write", "a.b", "x.y", "2"], json(), output: #"{"x.y":"2"}"#),
        .prints(["write", "a.b", "s", "t"], ["write", "a.b", "s.x", "2"], json(), output: #"{"s":"t","s.x":"2"}"#),
        .prints(["write", "a.b", #"x\.y"#, "1"], json(), output: #"{"x.y":"1"}"#),
        .prints(["write", "a.b", #"x\\y"#, "1"], json(), output: #"{"x\\y":"1"}"#),
        .prints(["write", "a.b", #"x\y"#, "1"], json(), output: #"{"x\\y":"1"}"#),
        .prints(["write", "--key-path", "a.b", "x.y.z", "-int", "1"], json(), output: #"{"x":{"y":{"z":1}}}"#),
        .prints(["--key-path", "write", "a.b", "x.y", "-int", "1"], json(), output: #"{"x":{"y":1}}"#),
        .prints(["write", "a.b", "--key-path", "x.y", "-int", "1"], json(), output: #"{"x":{"y":1}}"#),
        .prints(["write", "--key-path", "a.b", "x.y", "-array-add", "1"], json(), output: #"{"x":{"y":["1"]}}"#),
        .fails(
            nested, ["write", "a.b", "a.b.3", "v"], status: 1,
            "\"a.b\" in the domain a.b has 2 elements, counted from 0, so there is no element 3."),
        .fails(
            nested, ["write", "a.b", "a.b.k", "v"], status: 1,
            "\"a.b\" in the domain a.b is an array, and \"k\" is not an index."),
        .fails(
            nested, ["write", "--key-path", "a.b", "s.x", "v"], status: 65,
            "\"s\" in the domain a.b is of type string, not an array or dictionary, so it has no \"x\"."),
        .fails(
            nested, ["write", "a.b", "a.b.0", "-array-add", "v"], status: 65,
            "The value of \"a.b.0\" in the domain a.b is of type string, not an array, so nothing can be added; "
                + "leaving defaults unchanged. Use -array to replace it."),
        .fails(
            nested, ["write", "a.b", #"n\.x.y"#, "v"], status: 1,
            "The domain a.b has no key \"n.x\". To create it, put --key-path before the domain."),
    ]

    static let deleting: [CommandCase] = [
        .prints(nested, ["delete", "a.b", "a.b.0"], json("a"), output: #"{"b":[{"c":"y"}],"d.e":"z"}"#),
        .prints(nested, ["delete", "a.b", "a.b.1.c"], json("a"), output: #"{"b":["x",{}],"d.e":"z"}"#),
        .prints(nested, ["delete", "a.b", #"a.d\.e"#], json("a"), output: #"{"b":["x",{"c":"y"}]}"#),
        .prints(nested, ["delete", "a.b", "a"], json(), output: #"{"p.q":"1","r.s":{"t":"u"},"s":"text"}"#),
        .prints(
            nested, ["write", "a.b", "p", "{q = 2;}"], ["delete", "--key-path", "a.b", "p.q"], json("p"), output: "{}"),
        // Otherwise, the same command would delete the key the first time, and the value the second time.
        .fails(
            nested, ["write", "a.b", "p", "{q = 2;}"], ["delete", "a.b", "p.q"], status: 64,
            "\"p.q\" in the domain a.b is a key, and also leads to a value inside \"p\"; nothing is deleted. Before "
                + "the domain, put --literal-key for the key, or --key-path for the value, whose path is then "
                + "\"p.q\"."),
        .prints(
            nested, ["write", "a.b", "p", "{q = 2;}"], ["delete", "--literal-key", "a.b", "p.q"], json("p"),
            output: #"{"q":"2"}"#),
        .fails(
            nested, ["delete", "--literal-key", "a.b", "a.b.0"], status: 1,
            "The domain a.b has no key \"a.b.0\"; nothing is deleted."),
        .fails(
            nested, ["delete", "a.b", "a.x"], status: 1, "\"a\" in the domain a.b has no key \"x\"; nothing is deleted."
        ),
        .fails(
            nested, ["delete", "a.b", "a.b.2"], status: 1,
            "\"a.b\" in the domain a.b has 2 elements, counted from 0, so there is no element 2; nothing is deleted."),
    ]

    @Test(
        "A new key that looks like a path is created with a warning the first time only",
        arguments: ["Windows.0.Title", "Window.Title"])
    func looksLikeAPath(_ key: String) throws {
        let parent = key.prefix { $0 != "." }
        let write = ["write", "a.b", key, "Main"]
        var row = CommandCase.isSilent(write)
        row.errors =
            "defaults: The domain a.b has no \"\(parent)\", so a key named \"\(key)\" was created. "
            + "To set a value inside \"\(parent)\", put --key-path before the domain.\n"
        try row.check()
        try CommandCase.isSilent(write, write).check()
    }

    @Test("`read` and `read-type` follow a key path, or say where it leads nowhere", arguments: reading)
    func read(_ row: CommandCase) throws { try row.check() }

    @Test("`write` follows a key path, or says where it leads nowhere", arguments: writing)
    func write(_ row: CommandCase) throws { try row.check() }

    @Test("`delete` follows a key path, or says where it leads nowhere", arguments: deleting)
    func delete(_ row: CommandCase) throws { try row.check() }
}
