import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCommand

/// JSON where property lists are accepted: `import`, `convert`, and `write --json`.
@Suite("JSON as input")
struct JSONInputTests {
    private static func convert(_ input: String, to format: String = "json") throws -> Programs.Outcome {
        try Programs.run(Programs.defaults, ["convert", "--to", format, "-"], input: input)
    }

    @Test("A property list converted to JSON and back is unchanged")
    func roundTrip() throws {
        let value: PropertyListValue = [
            "data": .data([0, 255]), "date": .date(PropertyListDate(secondsSinceReferenceDate: 0.25)), "uid": .uid(7),
            "flag": true, "most": .unsigned(.max), "least": .integer(.min), "real": 1.0,
            "tiny": .real(.leastNonzeroMagnitude),
            "infinite": .real(-.infinity), "text": "é\u{1F600}\n\"\\\u{1}", "list": [[], [:], ["a": ["b": 1.5]]],
            "": "empty", "not wrapped": ["$data": "AA==", "more": 1],
            "like wrapped": [
                ["$data": "AA=="], ["$date": "2020-01-01T00:00:00Z"], ["$uid": 1], ["$real": "nan"], ["$$data": "AA=="],
                ["$$$real": ["$$uid": 1]], ["$data": ["$data": .data([0])]], ["$": "$"], ["$other": 1],
                ["data": "AA=="],
            ],
        ]
        try withTemporaryDirectory { root in
            try RawFile.write(value.write(as: .binary), to: root + "/in")
            for (from, to, format) in [("in", "json", "json"), ("json", "out", "binary")] {
                let outcome = try Programs.run(
                    Programs.defaults, ["convert", "--to", format, "\(root)/\(from)", "\(root)/\(to)"])
                #expect(outcome.errors == "")
            }
            #expect(try PropertyListValue(parsing: RawFile.read(root + "/out")) == value)
        }
    }

    @Test("JSON written by Python survives a conversion unchanged", .enabled(if: ForeignProcess.hasPython))
    func python() throws {
        let script = """
            import json, random, subprocess, sys
            def value(depth):
                kind = random.randrange(8 if depth < 4 else 6)
                if kind == 0: return random.randrange(-2**63, 2**64)
                if kind == 1: return random.choice([0.1, -2.5, 1e300, 5e-324, 3.0])
                if kind == 2: return random.random() < 0.5
                if kind < 6: return "".join(random.choice('ab"/\\\\\\n\\t\\x01é漢😀') for _ in range(random.randrange(6)))
                if kind == 6: return [value(depth + 1) for _ in range(random.randrange(4))]
                return {f"k{n}": value(depth + 1) for n in range(random.randrange(4))}
            for number in range(40):
                original = {"top": value(0), "list": [value(1), value(1)]}
                text = json.dumps(original, ensure_ascii=number % 2 == 0, indent=[None, 2, "\\t"][number % 3])
                result = subprocess.run([sys.argv[1], "convert", "--to", "json", "-"], input=text.encode(),
                    capture_output=True)
                if result.returncode or json.loads(result.stdout) != original:
                    sys.exit(f"{text}\\n{result.stdout}\\n{result.stderr}")
            """
        let outcome = try Programs.run("/usr/bin/env", ["python3", "-c", script, Programs.defaults])
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    private static func refused(_ json: String, _ place: String, _ message: String) -> CommandCase {
        .fails(
            ["import", "a.b", "-"], status: 65, "Standard input: JSON, \(place): \(message).", input: json)
    }

    static let refusals: [CommandCase] = [
        refused(#"{"a": null}"#, "line 1, column 7 (byte 6)", "a property list can't hold null; leave the key out"),
        refused("{\"é\": 1,\n \"b\": nul}", "line 2, column 7 (byte 16)", "expected a value"),
        refused(#"{"a": 1 "b": 2}"#, "line 1, column 9 (byte 8)", "expected }"),
        refused(#"{"a": 1, }"#, "line 1, column 10 (byte 9)", "expected a quoted key"),
        refused(#"{"a": 1, "a": 2}"#, "line 1, column 10 (byte 9)", #"an object has the key "a" twice"#),
        refused(#"{"a": 01}"#, "line 1, column 7 (byte 6)", "expected a value"),
        refused(
            #"{"a": 18446744073709551616}"#, "line 1, column 7 (byte 6)",
            "the number 18446744073709551616 doesn't fit in 64 bits"),
        refused(
            "{\"a\": -1\(String(repeating: "0", count: 309))}", "line 1, column 7 (byte 6)",
            "the number -1\(String(repeating: "0", count: 309)) doesn't fit in 64 bits"),
        refused(#"{"a": 1e999}"#, "line 1, column 7 (byte 6)", "the number 1e999 doesn't fit in 64 bits"),
        refused(#"{"a": "\ud800"}"#, "line 1, column 8 (byte 7)", "a surrogate has no partner"),
        refused(#"{"a": "\x"}"#, "line 1, column 8 (byte 7)", "invalid escape sequence"),
        refused(#"{"a": "b"#, "line 1, column 7 (byte 6)", "the string is not terminated"),
        refused(#"{"a": {"$data": "?"}}"#, "line 1, column 7 (byte 6)", "$data is not base64"),
        refused(#"{"a": {"$date": "soon"}}"#, "line 1, column 7 (byte 6)", "$date is not a date"),
        refused(#"{"a": 1} {}"#, "line 1, column 10 (byte 9)", "expected the end of the text"),
        .fails(
            ["import", "a.b", "-"], status: 65,
            "Standard input holds a value of type array, not a dictionary, so it has no keys; "
                + "the domain a.b is unchanged.",
            input: "[1, 2]"),
        .fails(
            ["write", "a.b", "k", #"{"a": 1}"#], status: 65,
            #""{"a": 1}" is JSON. Put --json before the domain. For plain text, put -string before it."#),
        .fails(
            ["write", "--json", "a.b", "k", "[1,"], status: 65,
            "JSON, line 1, column 4 (byte 3): expected a value, found the end of the text. "
                + "Defaults have not been changed."),
        .fails(
            ["write", "--json", "a.b", "[1]"], status: 64,
            #"The JSON value is not an object. Give a key before it, or '{"key": value}'."#),
        .fails(
            ["write", "--json", "a.b", "k", "1", "2"], status: 64,
            "With --json, give a key and a JSON value, or a JSON object."),
    ]

    static let written: [CommandCase] = [
        .prints(
            ["write", "--json", "a.b", "k", #"[1, 2.0, {"a": "b"}, true]"#], ["read", "--json", "a.b"],
            output: #"{"k":[1,2.0,{"a":"b"},true]}"#),
        .prints(
            ["write", "a.b", "old", "1"], ["write", "--json", "a.b", #"{"k": 5}"#], ["read", "--json", "a.b"],
            output: #"{"k":5}"#),
        .prints(
            ["write", "--json", "--key-path", "a.b", "x.y", "5"], ["read", "--json", "a.b"],
            output: #"{"x":{"y":5}}"#),
        .prints(
            ["convert", "--to", "json", "-"], output: #"{"k":{"$date":"2001-01-01T00:00:00Z + 1e+300 s"}}"#,
            input: #"{"k": {"$date": "2001-01-01T00:00:00Z + 1e+300 s"}}"#),
        .prints(
            ["write", "a.b", "old", "1"], ["import", "a.b", "-"], ["read", "--json", "a.b"],
            output: #"{"k":{"$date":"2001-01-01T00:00:00Z"},"old":"1"}"#,
            input: "\u{FEFF}{\"k\": {\"$date\": \"2001-01-01T00:00:00Z\"}}\n"),
    ]

    /// Numbers of every kind, and what programs write that hold numbers as `Double`.
    private static let numbers =
        #"{"big":9007199254740993,"dict":{"a":[1.0,2,{"b":3.0}]},"huge":1e+20,"list":[1.0,2.0],"#
        + #""most":18446744073709551615,"whole":2.0}"#
    private static let doubles =
        #"{"big":9007199254740992,"dict":{"a":[1,2,{"b":3}]},"huge":100000000000000000000,"list":[1,2],"#
        + #""most":18446744073709552000,"whole":2}"#

    static let kept: [CommandCase] = [
        .prints(
            ["write", "--json", "a.b", numbers], ["import", "a.b", "-"], ["read", "--json", "a.b"], output: numbers,
            input: doubles),
        .prints(
            ["write", "--json", "a.b", numbers], ["write", "--json", "a.b", doubles], ["read", "--json", "a.b"],
            output: numbers),
        .prints(
            ["write", "--json", "a.b", numbers], ["write", "--json", "a.b", "list", "[1,3,2]"],
            ["write", "--json", "a.b", "dict.a.2", #"{"b":3,"c":3}"#], ["write", "--json", "a.b", "whole", "2"],
            ["read", "--json", "a.b"],
            output: numbers.replacingOccurrences(of: #"{"b":3.0}"#, with: #"{"b":3.0,"c":3}"#)
                .replacingOccurrences(of: "[1.0,2.0]", with: "[1.0,3,2]")),
        CommandCase(
            commands: [["write", "--json", "a.b", numbers], ["diff", "a.b", "-"]], input: doubles, output: ""),
    ]

    @Test("A number in JSON changes none that it equals as a double, at any depth", arguments: kept)
    func keeping(_ row: CommandCase) throws { try row.check() }

    @Test(
        "A program that holds JSON's numbers as doubles changes only what it is asked to",
        arguments: [
            ("jq", "jq '.text = \"new\"'"),
            (
                "node",
                "node -e 'let v = JSON.parse(require(\"fs\").readFileSync(0)); v.text = \"new\"; "
                    + "console.log(JSON.stringify(v))'"
            ),
        ])
    func pipeline(program: String, filter: String) throws {
        guard Programs.isInstalled(program) else { return }
        try AgentProcess.withAgent { agent in
            #expect(try agent.defaults("write", "--json", "a.b", Self.numbers).status == 0)
            let command = Programs.defaults
            let outcome = try agent.shell("'\(command)' read --json a.b | \(filter) | '\(command)' import a.b -")
            #expect(outcome.status == 0 && outcome.errors == "", "\(outcome.errors)")
            let expected = Self.numbers.replacingOccurrences(of: #","whole""#, with: #","text":"new","whole""#)
            #expect(try agent.defaults("read", "--json", "a.b").output == expected + "\n")
        }
    }

    @Test("A 32-bit real is kept by the JSON that is printed for it")
    func real32() {
        let old: PropertyListValue = [.real32(0.1), .unsigned(.max), .boolean(true), .real(.nan)]
        let new: PropertyListValue = [.real(0.1), .real(18_446_744_073_709_551_616), .integer(1), .real(.nan)]
        #expect(new.preservingNumbers(of: old) == [.real32(0.1), .unsigned(.max), .integer(1), .real(.nan)])
    }

    @Test(
        "An integer is kept by what programs with doubles write for it, and changed by any other",
        arguments: [
            (1_234_567_890_123_456_789, 1_234_567_890_123_456_768, true),
            (1_234_567_890_123_456_789, 1_234_567_890_123_456_800, true),
            (1_234_567_890_123_456_789, 1_234_567_890_123_456_790, false),
            (1_234_567_890_123_456_789, 1_234_567_890_123_456_700, false),
            (9_007_199_254_740_993, 9_007_199_254_740_992, true),
            (-9_007_199_254_740_993, -9_007_199_254_740_992, true),
            (9_007_199_254_740_993, 9_007_199_254_740_994, false),
            (9_007_199_254_740_992, 9_007_199_254_740_993, false),
            (5, 6, false), (.max, .max - 1, false),
        ])
    func largeIntegers(old: Int64, new: Int64, isKept: Bool) {
        let kept = PropertyListValue.integer(new).preservingNumbers(of: .integer(old))
        #expect(kept == .integer(isKept ? old : new))
    }

    @Test("The sign of zero is a change, and only one side of a comparison takes the other's numbers")
    func zeroAndSides() throws {
        #expect(PropertyListValue.real(-0.0).preservingNumbers(of: .real(0)) == .real(-0.0))
        #expect(PropertyListValue.integer(0).preservingNumbers(of: .real(0)) == .real(0))
        try withTemporaryDirectory { directory in
            try RawFile.write(#"{"k":2,"l":9007199254740993}"#, to: directory + "/a.json")
            try RawFile.write(#"{"k":2.0,"l":9007199254740992}"#, to: directory + "/b.json")
            let files = [directory + "/a.json", directory + "/b.json"]
            #expect(try Programs.run(Programs.defaults, ["diff"] + files).status == 0)
            let other = try Programs.run(Programs.defaults, ["diff"] + files.reversed())
            #expect(other.output.contains("9007199254740992 → 9007199254740993"))
        }
    }

    private static let typed = #"{"a":1,"b":[1],"c":{"d":true},"e":{"$date":"2001-01-01T00:00:00Z"},"f":2.5,"s":"x"}"#
    private static let report =
        "The edit changed the type of 5 keys in the domain a.b: \"a\", \"b\", \"c\", \"e\" and 1 more. `read` prints "
        + "numbers, dates and Booleans as strings; to keep types, use `read --json`."

    @Test(
        "Keys whose types an import or a whole domain changes are named",
        arguments: [
            (["import", "a.b", "-"], "{a=1;b=(1);c={d=1;};e=\"2001-01-01 00:00:00 +0000\";f=\"2.5\";s=y;}", report),
            (["write", "a.b", "{a=1;b=(1);c={d=1;};e=x;f=\"2.5\";s=y;}"], "", report),
            (
                ["import", "a.b", "-"], #"{"a":"1","s":"y","new":1}"#,
                "The edit changed the type of 1 key in the domain a.b: \"a\"."
            ),
            (["import", "a.b", "-"], #"{"a":2.5,"b":[1,"x"],"f":3,"s":"y"}"#, nil),
        ] as [([String], String, String?)])
    func types(command: [String], input: String, message: String?) throws {
        var row = CommandCase(commands: [["write", "--json", "a.b", Self.typed], command], input: input)
        row.errors = message.map { "defaults: \($0)\n" } ?? ""
        try row.check()
    }

    @Test("A JSON value is stored as the property list that it describes", arguments: written)
    func writing(_ row: CommandCase) throws { try row.check() }

    @Test("Invalid JSON input is refused with an explanation and changes nothing", arguments: refusals)
    func wrong(_ row: CommandCase) throws { #expect(try row.check() == [:]) }

    @Test("JSON that is nested too deeply is refused")
    func depth() throws {
        let outcome = try Self.convert(String(repeating: "[", count: 100_000))
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains("more than 500 arrays and objects are nested"))
    }
}
