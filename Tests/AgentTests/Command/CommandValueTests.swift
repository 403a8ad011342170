import ProgramSupport
import TestSupport
import Testing

/// The values that `defaults write` accepts, and those that it refuses.
@Suite("Values for `defaults write`")
struct CommandValueTests {
    /// Returns a case that writes a value and reads it back.
    private static func value(_ arguments: [String], _ output: String) -> CommandCase {
        .prints(["write", "a.b", "k"] + arguments, ["read", "a.b", "k"], output: output)
    }

    /// Returns a case that writes a value and reads it as JSON, which shows its type.
    private static func typed(_ arguments: [String], _ json: String) -> CommandCase {
        .prints(["write", "a.b", "k"] + arguments, ["read", "--json", "a.b", "k"], output: json)
    }

    static let texts: [CommandCase] = [
        value(["text"], "text"), value(["two words"], "two words"), value([""], ""), value(["-5"], "-5"),
        value(["-string", "(a)"], "(a)"), value(["-string", "-int"], "-int"), value(["-g"], "-g"),
        value(["-string", #"C:\new"#], #"C:\new"#), value([#"a\tb\\c\U00e9\101"#], "a\tb\\c\u{E9}A"),
        value(["Apple Global Domain"], "Apple Global Domain"), value(["-globalDomain"], "-globalDomain"),
        value(["-string", "Apple Global Domain"], "Apple Global Domain"), value(["-string", "-g"], "-g"),
        value(["--json"], "--json"), value(["-string", "--key-path"], "--key-path"),
        value(["é ß 漢 🎉"], "é ß 漢 🎉"),
        value(["\"quoted\""], "quoted"), typed(["5"], #""5""#), typed(["-string", "5"], #""5""#),
    ]

    static let scalars: [CommandCase] = [
        value(["-int", "5"], "5"), value(["-string", "-INT"], "-INT"), value(["-O2"], "-O2"),
        value(["-integer", "-9223372036854775808"], "-9223372036854775808"),
        typed(["-int", "18446744073709551615"], "18446744073709551615"), typed(["-int", "+7"], "7"),
        value(["-float", "1.5"], "1.5"), value(["-float", "0.1"], "0.1"), typed(["-float", "3"], "3.0"),
        typed(["-float", "1e-300"], "1e-300"), typed(["-float", "-0"], "-0.0"), typed(["-float", "0e9"], "0.0"),
        typed(["-float", "0.1234567890123456"], "0.1234567890123456"),
        value(["-bool", "YES"], "1"), value(["-boolean", "false"], "0"), typed(["-bool", "1"], "true"),
        typed(["-bool", "No"], "false"), typed(["-bool", "tRue"], "true"), typed(["-bool", "0"], "false"),
        value(["-date", "2020-01-02 03:04:05 +0100"], "2020-01-02 02:04:05 +0000"),
        typed(["-date", "2020-01-02 03:04:05 -0030"], #"{"$date":"2020-01-02T03:34:05Z"}"#),
        typed(["-date", "2020-02-29T00:00:00Z"], #"{"$date":"2020-02-29T00:00:00Z"}"#),
        typed(["-date", "2020-01-02T03:04:05+01:00"], #"{"$date":"2020-01-02T02:04:05Z"}"#),
        typed(["-date", "2020-01-02 03:04Z"], #"{"$date":"2020-01-02T03:04:00Z"}"#),
        value(["-data", "abc"], "<0abc>"),
        value(["-data", "0a0bff0a01"], "<0a0bff0a 01>"), value(["-data", ""], "<>"),
        typed(["-data", "FF"], #"{"$data":"/w=="}"#),
    ]

    static let containers: [CommandCase] = [
        value(["-array"], "(\n)"), value(["-dict"], "{\n}"), value(["-array-add"], "(\n)"),
        value(["-dict-add"], "{\n}"),
        value(
            ["-array", "a", "-int", "1", "(b, c)"], "(\n    a,\n    1,\n        (\n        b,\n        c\n    )\n)"),
        value(["-array", "-g", "Apple Global Domain"], "(\n    \"-g\",\n    \"Apple Global Domain\"\n)"),
        typed(
            ["-array", "-bool", "no", "-float", "2", "-data", "00", "-string", "-int", "t"],
            #"[false,2.0,{"$data":"AA=="},"-int","t"]"#),
        typed(["-dict", "k", "v", "n", "-int", "1"], #"{"k":"v","n":1}"#),
        typed(["-dict", "-string", "(a)", "-bool", "yes", "k", "{x = y;}"], #"{"(a)":true,"k":{"x":"y"}}"#),
        typed(["-dict", "k", "1", "k", "2"], #"{"k":"2"}"#),
        value(["{a = (1, 2);}"], "{\n    a =     (\n        1,\n        2\n    );\n}"),
        value(["<plist><integer>7</integer></plist>"], "7"), typed(["<0a0b>"], #"{"$data":"Cgs="}"#),
        typed(["<*I5>"], "5"), typed(["a = \"b\";"], #"{"a":"b"}"#),
        .prints(
            ["write", "a.b", "k", "-array", "a"], ["write", "a.b", "k", "-array-add", "b", "-int", "3"],
            ["read", "--json", "a.b", "k"], output: #"["a","b",3]"#),
        .prints(
            ["write", "a.b", "k", "-dict", "a", "1", "b", "2"],
            ["write", "a.b", "k", "-dict-add", "b", "-int", "3", "c", "4"],
            ["read", "--json", "a.b", "k"], output: #"{"a":"1","b":3,"c":"4"}"#),
    ]

    private static func refused(_ value: [String], _ status: Int32, _ errors: String) -> CommandCase {
        .fails(["write", "a.b", "k"] + value, status: status, errors)
    }

    private static func noValue(_ option: String, _ text: String, _ remedy: String) -> CommandCase {
        refused(
            [option, text], 64,
            "\"\(text)\" is not a valid value for \(option), which takes \(remedy); nothing is written.")
    }

    private static let wholeNumber = "an integer from -9223372036854775808 to 18446744073709551615"
    private static let number = "a finite 64-bit number such as 1.5 or 2e-3"
    private static let date = "a date such as 2019-02-19, \"2019-02-19 10:10:10\" or 2019-02-19T10:10:10Z"
    private static let nesting =
        "Cannot nest composite types. Write an array or dictionary inside another as a property list, such as "
        + "'(a, b)' or '{k = v;}'."
    private static let plainText = "For plain text, put -string before it."

    static let refusals: [CommandCase] =
        ["x", "", "1.5", "0x10", "18446744073709551616", " 5"].flatMap {
            [noValue("-int", $0, wholeNumber), noValue("-integer", $0, wholeNumber)]
        }
        + ["x", "", "nan", "inf", "-infinity", "1e400", "-1e999", "1e-400", "1.5f"].map {
            noValue("-float", $0, number)
        }
        + ["maybe", "", "2", "on"].flatMap {
            [
                noValue("-bool", $0, "true, false, yes or no"),
                noValue("-boolean", $0, "true, false, yes or no"),
            ]
        }
        + ["0g", "0a 0b", "<0a>", "０１"].map { noValue("-data", $0, "hexadecimal digits, two per byte") }
        + [
            "soon", "", "2020-1-2", "2020-02-30", "2020-02-30 00:00:00 +0000", "2020-01-02 24:00:00",
            "2020-01-02 03:04:05 +2400", "2020-01-02 03:04:05.", "2020-01-02 03", "2020-01-02 03:04:05 CET",
            "9999-12-31 23:59:59 -2359", "2020-02-30T00:00:00Z",
        ].map { noValue("-date", $0, date) }
        + ["-int", "-integer", "-float", "-bool", "-boolean", "-date", "-data", "-string"].map {
            refused([$0], 64, "\($0) needs a value.")
        }
        + ["-array", "-array-add", "-dict", "-dict-add"].map { refused(["-array", $0], 64, nesting) }
        + [
            refused(["-dict", "a", "-array", "b"], 64, nesting),
            refused(["-dict", "a"], 64, "Key \"a\" lacks a corresponding value."),
            refused(["-dict-add", "a", "b", "c"], 64, "Key \"c\" lacks a corresponding value."),
            refused(["-dict", "-int", "5", "v"], 64, "The keys of a dictionary must be strings; nothing is written."),
            refused(
                ["-array", "-int", "x"], 64,
                "\"x\" is not a valid value for -int, which takes \(wholeNumber); nothing is written."),
            refused(["-foo", "3"], 64, "Unknown type \"-foo\"; leaving defaults unchanged."),
            refused(["v", "w"], 64, "Unexpected argument \"w\"; leaving defaults unchanged."),
            refused(["-int", "5", "6"], 64, "Unexpected argument \"6\"; leaving defaults unchanged."),
            refused(
                ["(a"], 65,
                "Could not parse \"(a\": Old-style property list, line 1, column 3 (byte 2): "
                    + "expected , or ), found the end of the text. \(plainText)"),
            refused(
                [#"a\"#], 65,
                #""a\" has an invalid escape sequence; leaving defaults unchanged. "# + plainText),
            refused(
                [#"C:\dir"#], 65,
                #""C:\dir" has an invalid escape sequence; leaving defaults unchanged. "# + plainText),
            refused(
                [#"\Ud83d!"#], 65,
                #"Could not parse "\Ud83d!": Old-style property list, line 1, column 2 (byte 1): a surrogate has no "#
                    + "partner. \(plainText)"),
        ]

    @Test("A value that was written reads back with its text and type", arguments: texts + scalars + containers)
    func values(_ row: CommandCase) throws { try row.check() }

    @Test("An invalid value is refused with a reason, and nothing is written", arguments: refusals)
    func wrong(_ row: CommandCase) throws { #expect(try row.check() == [:]) }

    @Test(
        "A date without a zone is local time",
        arguments: [
            ("2019-02-19", "2019-02-18T23:00:00Z"), ("2019-02-19 10:10:10", "2019-02-19T09:10:10Z"),
            ("2019-07-19T10:10:10", "2019-07-19T08:10:10Z"), ("2019-07-19 10:10", "2019-07-19T08:10:00Z"),
        ])
    func localDates(_ text: String, _ date: String) throws {
        try AgentProcess.withPlace { place in
            // Central Europe's rules, written out so that they don't depend on the machine's zone files.
            let environment = place.environment.merging(["TZ": "CET-1CEST,M3.5.0,M10.5.0/3", "DEFAULTSD_SOCKET": ""]) {
                $1
            }
            for arguments in [["write", "a.b", "k", "-date", text], ["read", "--json", "a.b", "k"]] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(outcome.errors == "")
                #expect(arguments[0] == "write" || outcome.output == "{\"$date\":\"\(date)\"}\n")
            }
        }
    }

    @Test(
        "`write` shows how it stored a text that it interpreted, on a terminal only",
        .enabled(if: ForeignProcess.hasPython),
        arguments: [
            ([#"C:\new\table"#], "C:<newline>ew<tab>able"), ([#"\U00e9\r\001"#], "é<return><U+0001>"),
            ([#"a\\b"#], #"a\b"#), (["\"quoted\""], "quoted"), (["<string>a</string>"], "a"),
            (["-array", "\"a, b\"", "c"], "a, b"),
            // Stored unchanged, or not as text.
            (["plain"], nil), (["'single'"], nil), (["(a)"], nil), (["-string", #"C:\new"#], nil),
            (["-data", "0a"], nil),
        ] as [([String], String?)])
    func terminalNote(_ operands: [String], _ stored: String?) throws {
        try AgentProcess.withPlace { place in
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            let command = [Programs.defaults, "write", "a.b", "k"] + operands
            let typed = operands.first { !$0.hasPrefix("-") } ?? ""
            let note = stored.map {
                "defaults: \"\(typed)\" was parsed as a property list and is stored as \"\($0)\". "
                    + "To store it literally, put -string before it.\r\n"
            }
            let shown = try Programs.run(
                "/usr/bin/env", ["python3", "-c", "import pty, sys; pty.spawn(sys.argv[1:])"] + command,
                environment: environment)
            #expect(shown.output == note ?? "")
            let piped = try Programs.run(command[0], Array(command[1...]), environment: environment)
            #expect(piped.status == 0 && piped.output == "" && piped.errors == "")
        }
    }

    @Test("A value that nothing can be added to stays unchanged", arguments: ["-array-add", "-dict-add"])
    func mismatch(_ option: String) throws {
        let (wanted, replacing) = option == "-array-add" ? ("an array", "-array") : ("a dictionary", "-dict")
        try CommandCase.fails(
            ["write", "a.b", "k", "text"], ["write", "a.b", "k", option, "a", "b"], status: 65,
            "The value of \"k\" in the domain a.b is of type string, not \(wanted), so nothing can be added; "
                + "leaving defaults unchanged. Use \(replacing) to replace it."
        ).check()
    }
}
