import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The verbs `import` and `export`.
@Suite("The command's imports and exports")
struct CommandFileTests {
    private static let ab = ["write", "a.b", "{a = 1; b = 2;}"]

    /// Returns a dictionary that nests containers to a depth, itself included.
    private static func nested(_ depth: Int) -> String {
        "{k = " + String(repeating: "(", count: depth - 1) + String(repeating: ")", count: depth - 1) + ";}"
    }

    private static let tooDeep =
        "Standard input: Old-style property list, line 1, column 505 (byte 504): "
        + "containers are nested more than 500 levels deep."

    static let moving: [CommandCase] = [
        .isSilent(["import", "a.b", "-"], input: "{k = v;}"),
        .prints(
            ab, ["import", "a.b", "-"], ["read", "--json", "a.b"], output: #"{"a":"1","b":"3","c":["4"]}"#,
            input: "{b = 3; c = (4);}"),
        .prints(
            ["import", "a.b", "-"], ["read", "--json", "a.b"], output: #"{"k":true}"#,
            input: "<plist><dict><key>k</key><true/></dict></plist>"),
        .prints(ab, ["import", "a.b", "-"], ["read", "--json", "a.b"], output: #"{"a":"1","b":"2"}"#, input: "{}"),
        .prints(
            ab, ["export", "a.b", "$T/e"], ["import", "c.d", "$T/e"], ["read", "--json", "c.d"],
            output: #"{"a":"1","b":"2"}"#),
        .prints(
            ["write", "a.b", "k", "-bool", "yes"], ["export", "a.b", "-"],
            output: """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                \t<key>k</key>
                \t<true/>
                </dict>
                </plist>
                """),
        .fails(
            ab, ["import", "a.b", "$T/none"], status: 66, "$T/none can't be read: No such file or directory."
        ),
        .fails(ab, ["import", "a.b", "$T"], status: 66, "$T can't be read: Is a directory."),
        .fails(
            ab, ["import", "a.b", "-"], status: 65,
            "Standard input holds a value of type array, not a dictionary, so it has no keys; "
                + "the domain a.b is unchanged.",
            input: "(1)"),
        .fails(
            ab, ["import", "a.b", "-"], status: 65,
            "Standard input: Old-style property list, line 1, column 1 (byte 0): "
                + "the input is empty."),
        .fails(
            ab, ["import", "a.b", "-"], status: 65,
            "Standard input: Old-style property list, line 1, column 5 (byte 4): "
                + "expected ; after the value of key \"a\", found \"}\".", input: "{a=1}"),
        .isSilent(["import", "a.b", "-"], input: nested(500)),
        .prints(
            ["convert", "--to", "json", "-"],
            output: "{\"k\":" + String(repeating: "[", count: 499) + String(repeating: "]", count: 499) + "}",
            input: nested(500)),
        .fails(["import", "a.b", "-"], status: 65, tooDeep, input: nested(501)),
        .fails(["convert", "-"], status: 65, tooDeep, input: nested(501)),
        .fails(["import", "a.b"], status: 64, "Missing expected argument '<path>'. See `defaults help import`."),
        .fails(["export", "nope", "-"], status: 1, "The domain nope does not exist."),
        .fails(ab, ["export", "a.b", "$T/no/e"], status: 73, "$T/no/e can't be written: No such file or directory."),
        .fails(
            ab, ["export", "a.b", "$P/a.b.plist"], status: 64,
            "$P/a.b.plist is the file of the domain a.b itself. Nothing is exported; name another file."),
        .fails(ab, ["export", "a.b", "$T"], status: 73, "$T can't be written: Is a directory."),
        .fails(
            ["write", "a.b", "k", #"\001"#], ["export", "a.b", "-"], status: 65,
            "XML property list, value of k: "
                + "the text contains U+0001, which XML cannot represent; the binary format can. "
                + "Export it to a file, or use `read --plist binary`."),
    ]

    @Test("An import or export gives the expected output, status and message", arguments: moving)
    func move(_ row: CommandCase) throws { try row.check() }

    @Test("An import merges its keys as one change set")
    func oneChangeSet() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "{a = 1; b = 2;}")
            let follower = try agent.follow()
            try Programs.run(
                Programs.defaults, ["import", "a.b", "-"], environment: agent.place.environment,
                input: "{b = 3; c = 4;}")
            try follower.expect(["a.b: b 2>3, c ->4 (app)"])
            #expect(try agent.defaults("read", "--json", "a.b").output == "{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}\n")
        }
    }

    @Test("An exported file is binary, keeps the mode of a file it replaces, and leaves nothing beside it")
    func exported() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            let path = agent.place.root + "/out/e"
            try RawFile.makeDirectory(agent.place.root + "/out")
            for mode in [0o600, 0o644] as [UInt32] {
                if mode == 0o644 { #expect(chmod(path, mode) == 0) }
                #expect(try agent.defaults("export", "a.b", path).status == 0)
                let bytes = try RawFile.read(path)
                #expect(PropertyListFormat.detect(bytes) == .binary)
                #expect(try PropertyListValue(parsing: bytes) == ["k": "v"])
                #expect(try RawFile.status(path).st_mode & 0o777 == mode)
                #expect(namesOfFiles(in: agent.place.root + "/out") == ["e"])
            }
        }
    }
}
