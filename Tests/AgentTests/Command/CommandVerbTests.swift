import ProgramSupport
import TestSupport
import Testing

/// Apple's verbs, with valid and invalid input.
@Suite("Apple's verbs")
struct CommandVerbTests {
    private static let ab = ["write", "a.b", "{a = 1; b = 2;}"]
    private static let kv = ["write", "a.b", "k", "v"]

    static let reading: [CommandCase] = [
        .prints(kv, ["READ", "a.b", "k"], output: "v"),
        .prints(ab, ["read", "a.b"], output: "{\n    a = 1;\n    b = 2;\n}"),
        .prints(["read"], output: "{\n}"),
        .prints(
            kv, ["write", "-g", "k", "v"], ["read"],
            output:
                "{\n    \"Apple Global Domain\" =     {\n        k = v;\n    };\n"
                + "    \"a.b\" =     {\n        k = v;\n    };\n}"
        ),
        .prints(kv, ["read", "--json"], output: #"{"a.b":{"k":"v"}}"#),
        .prints(["write", "a.b", "k", "-array"], ["read", "a.b", "k", "--json"], output: "[]"),
        .prints(["write", "a.b", "k", "é\\n"], ["read", "--raw", "a.b", "k"], output: "é\n"),
        CommandCase(
            commands: [["write", "a.b", "k", "-data", "610a62"], ["read", "a.b", "k", "--raw"]], output: "a\nb"),
        .prints(["write", "a.b", "k", "-int", "-5"], ["read", "a.b", "k", "--raw"], output: "-5"),
        .prints(["write", "a.b", "k", "-array", "a b"], ["read", "a.b", "k", "--raw"], output: "(\n    \"a b\"\n)"),
        .prints(
            ["write", "a.b", "k", "-int", "5"], ["read", "a.b", "k", "--plist", "xml"],
            output: """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <integer>5</integer>
                </plist>
                """),
        .fails(["read", "nope"], status: 1, "The domain nope does not exist."),
        .fails(["read", "nope", "k"], status: 1, "The domain nope does not exist."),
        .fails(kv, ["read", "a.b", "x"], status: 1, "The domain a.b has no key \"x\"."),
        .fails(kv, ["read", "a.b", "K"], status: 1, "The domain a.b has no key \"K\". Did you mean \"k\"?"),
        .fails(
            kv, ["read", "--json", "--raw", "a.b"], status: 64,
            "Use only one of --json, --plist and --raw. See `defaults help read`."),
        .fails(
            kv, ["read", "--plist", "old", "a.b"], status: 64,
            "The value 'old' is invalid for '--plist <format>'. Please provide one of 'xml' and 'binary'. "
                + "See `defaults help read`."),
        .fails(["read", "a", "b", "c"], status: 64, "Unexpected argument 'c'. See `defaults help read`."),
        .fails(
            ["write", "a.b", "k", #"\001"#], ["read", "a.b", "--plist", "xml"], status: 65,
            "XML property list, value of k: "
                + "the text contains U+0001, which XML cannot represent; the binary format can. "
                + "Use --json or --plist binary."),
    ]

    static let types: [CommandCase] =
        [
            (["text"], "string"), (["-data", "00"], "data"), (["-int", "1"], "integer"),
            (["-int", "18446744073709551615"], "integer"), (["-float", "1"], "float"), (["-bool", "no"], "boolean"),
            (["-date", "2020-01-01T00:00:00Z"], "date"), (["-array"], "array"), (["-dict"], "dictionary"),
        ].map {
            .prints(["write", "a.b", "k"] + $0.0, ["read-type", "a.b", "k"], output: "Type is \($0.1)")
        } + [
            .fails(kv, ["read-type", "a.b", "x"], status: 1, "The domain a.b has no key \"x\"."),
            .fails(["read-type", "nope", "x"], status: 1, "The domain nope does not exist."),
            .fails(
                ["read-type", "a.b"], status: 64, "Missing expected argument '<key>'. See `defaults help read-type`."),
        ]

    static let writing: [CommandCase] = [
        .prints(kv, ["write", "a.b", "{x = 1;}"], ["read", "a.b"], output: "{\n    x = 1;\n}"),
        .prints(kv, ["WRITE", "a.b", "j", "w"], ["read", "--json", "a.b"], output: #"{"j":"w","k":"v"}"#),
        .prints(
            ["write", "a.b", "<plist><dict><key>k</key><true/></dict></plist>"], ["read", "--json", "a.b"],
            output: #"{"k":true}"#),
        .prints(kv, ["write", "a.b", "{}"], ["write", "c.d", "k", "v"], ["domains"], output: "c.d"),
        .prints(["write", "a.b", "", "v"], ["read", "a.b", ""], output: "v"),
        .prints(["write", "a.b", "-key", "-value"], ["read", "a.b", "--", "-key"], output: "-value"),
        .prints(["write", "a.b", "--", "--key-path", "v"], ["read", "a.b", "--", "--key-path"], output: "v"),
        .fails(
            ["write", "a.b"], status: 64, "Give a key and a value, or a dictionary. See `defaults write --help`."),
        .fails(
            ["write", "a.b", "k"], status: 64,
            "\"k\" is not a dictionary. Give a key and a value, or '{key = value;}'. Defaults have not been changed."
        ),
        .fails(
            ["write", "a.b", "(1)"], status: 64,
            "\"(1)\" is not a dictionary. Give a key and a value, or '{key = value;}'. "
                + "Defaults have not been changed."),
        .fails(["write"], status: 64, "Missing expected argument '<domain>'. See `defaults help write`."),
    ]

    static let removing: [CommandCase] = [
        .prints(ab, ["rename", "a.b", "a", "c"], ["read", "--json", "a.b"], output: #"{"b":"2","c":"1"}"#),
        .prints(ab, ["rename", "a.b", "a", "b"], ["read", "--json", "a.b"], output: #"{"b":"1"}"#),
        .prints(ab, ["rename", "a.b", "a", "a"], ["read", "--json", "a.b"], output: #"{"a":"1","b":"2"}"#),
        .prints(
            ["write", "a.b", "x.y", "v"], ["rename", "a.b", "x.y", "z.w"], ["read", "--json", "a.b"],
            output: #"{"z.w":"v"}"#),
        .fails(
            kv, ["rename", "a.b", "x", "y"], status: 1,
            "Key \"x\" does not exist in the domain a.b; leaving defaults unchanged."),
        .fails(
            ["rename", "nope", "x", "y"], status: 1,
            "Key \"x\" does not exist in the domain nope; leaving defaults unchanged."),
        .prints(ab, ["delete", "a.b", "a"], ["read", "--json", "a.b"], output: #"{"b":"2"}"#),
        .isSilent(kv, ["remove", "a.b", "k"], ["domains"]), .isSilent(kv, ["delete", "a.b"], ["domains"]),
        .isSilent(kv, ["Delete", "a.b"], ["domains"]),
        .fails(["delete", "nope"], status: 1, "The domain nope does not exist; nothing is deleted."),
        .fails(["delete", "nope", "k"], status: 1, "The domain nope does not exist; nothing is deleted."),
        .fails(kv, ["delete", "a.b", "x"], status: 1, "The domain a.b has no key \"x\"; nothing is deleted."),
        .isSilent(kv, ["write", "-host", "H", "a.b", "k", "v"], ["delete-all", "a.b"], ["-host", "H", "domains"]),
        .isSilent(kv, ["write", "-host", "H", "a.b", "k", "v"], ["delete-all", "a.b", "k"], ["domains"]),
        .prints(
            ab, ["write", "-host", "H", "a.b", "c", "3"], ["delete-all", "a.b", "a"],
            ["-host", "H", "read", "a.b", "c"],
            output: "3"),
        .prints(
            ["write", "-host", "H", "a.b", "c", "3"], kv, ["delete", "a.b"], ["-host", "H", "domains"], output: "a.b"),
        .fails(
            ["delete-all", "nope"], status: 1,
            "The domain nope does not exist for any host; nothing is deleted."),
        .fails(
            kv, ["delete-all", "a.b", "x"], status: 1,
            "The domain a.b has no key \"x\" for any host; nothing is deleted."),
        .fails(
            kv, ["-host", "H", "delete-all", "a.b"], status: 64,
            "delete-all applies to all hosts; remove -host and -currentHost."),
    ]

    @Test("`read` and `read-type` print the value or report why they can't", arguments: reading + types)
    func read(_ row: CommandCase) throws { try row.check() }

    @Test("`write` sets a key or a domain or reports why it can't", arguments: writing)
    func write(_ row: CommandCase) throws { try row.check() }

    @Test("`rename`, `delete` and `delete-all` change what they name or report why they can't", arguments: removing)
    func remove(_ row: CommandCase) throws { try row.check() }

    @Test("`read` prints only one of several domains whose names are the same text, and reports the others")
    func sameText() throws {
        func left(_ name: String) -> String {
            "Another domain named \(name) is left out: the output can hold each name only once."
        }
        try CommandCase(
            commands: [["read", "--json"]], status: 65, output: #"{"é":{"k":"1"}}"# + "\n",
            errors: "defaults: \(left("é"))\n"
        ).check { place in
            try RawFile.write("{k = 1;}", to: place.path("e\u{301}"))
            try RawFile.write("{k = 2;}", to: place.path("\u{E9}"))
        }
    }
}
