import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The verbs that Apple's command doesn't have, with and without an agent.
@Suite("Verbs beyond Apple's")
struct VerbTests {
    private static let layers = [
        "p/a.b.plist": "{size = 12; mine = 1;}", "p/.GlobalPreferences.plist": "{size = 1; name = \"\\033x\";}",
        "system/a.b.plist": "{size = 3; theirs = 2;}", "system/.GlobalPreferences.plist": "{size = 4;}",
    ]

    static let explain: [CommandCase] = [
        CommandCase(
            files: layers, commands: [["explain", "a.b", "size"]],
            output: """
                * you, any host            $P/a.b.plist                      "12"
                  you, any host, all apps  $P/.GlobalPreferences.plist       "1"
                  system                   $R/system/a.b.plist                 "3"
                  system, all apps         $R/system/.GlobalPreferences.plist  "4"

                """),
        CommandCase(
            files: layers, commands: [["explain", "a.b"]],
            output: """
                mine    you, any host            $P/a.b.plist                 "1"
                name    you, any host, all apps  $P/.GlobalPreferences.plist  "\\u001bx"
                size    you, any host            $P/a.b.plist                 "12"
                theirs  system                   $R/system/a.b.plist            "2"

                """),
        CommandCase(
            files: ["system/a.b.plist": "{k = 2;}", "p/a.b.plist": "{k = 1; \"\" = 3;}"],
            commands: [["explain", "--json", "a.b"]],
            output: """
                {"domain":"a.b","key":"","layers":[{"layer":"you, any host","domain":"a.b","host":null,\
                "file":"$P/a.b.plist","format":"old-style","wins":true,"value":"3"}]}
                {"domain":"a.b","key":"k","layers":[{"layer":"you, any host","domain":"a.b","host":null,\
                "file":"$P/a.b.plist","format":"old-style","wins":true,"value":"1"},\
                {"layer":"system","domain":"a.b","host":null,"user":"$R/system","file":"$R/system/a.b.plist",\
                "format":"old-style","wins":false,"value":"2"}]}

                """),
        CommandCase(
            files: [:], commands: [["explain", "a.b"]], status: 1,
            errors: "defaults: The domain a.b does not exist.\n"),
        CommandCase(
            files: ["p/a.b.plist": "oops"], commands: [["explain", "a.b"]], status: 65,
            errors: """
                defaults: $P/a.b.plist has no dictionary at its top level, so it holds no preferences.
                defaults: No readable layer has values.

                """),
        CommandCase(
            files: layers, commands: [["explain", "--json", "a.b", "theirs"]],
            output: """
                {"domain":"a.b","key":"theirs","layers":[{"layer":"system","domain":"a.b","host":null,"user":\
                "$R/system","file":"$R/system/a.b.plist","format":"old-style","wins":true,"value":"2"}]}

                """),
        CommandCase(
            files: layers, commands: [["explain", "-g", "name"]],
            output: "* you, any host, all apps  $P/.GlobalPreferences.plist  \"\\u001bx\"\n"),
        CommandCase(
            files: layers, commands: [["explain", "-host", "H", "write", "x"]], status: 1,
            errors: "defaults: No layer of write has the key \"x\".\n"),
        CommandCase(
            files: layers,
            commands: [["-host", "H", "write", "a.b", "size", "9"], ["explain", "-host", "H", "a.b", "size"]],
            output: """
                * you, this host           $P/ByHost/a.b.H.plist             "9"
                  you, any host            $P/a.b.plist                      "12"
                  you, any host, all apps  $P/.GlobalPreferences.plist       "1"
                  system                   $R/system/a.b.plist                 "3"
                  system, all apps         $R/system/.GlobalPreferences.plist  "4"

                """),
        CommandCase(
            files: layers, commands: [["explain", "a.b", "sizee"]], status: 1,
            errors: "defaults: No layer of a.b has the key \"sizee\". Did you mean \"size\"?\n"),
        CommandCase(
            files: ["p/a.bc.plist": "{only = 1;}"], commands: [["explain", "a.b", "only"]], status: 1,
            errors: "defaults: No layer of a.b has the key \"only\". Did you mean the domain \"a.bc\"?\n"),
        CommandCase(
            files: ["p/a.b.plist": "oops"], commands: [["explain", "a.b", "k"]], status: 65,
            errors: """
                defaults: $P/a.b.plist has no dictionary at its top level, so it holds no preferences.
                defaults: No readable layer has the key "k".

                """),
    ]

    static let effective: [CommandCase] = [
        CommandCase(
            files: layers, commands: [["read", "--effective", "--json", "a.b"]],
            output: #"{"mine":"1","name":"\u001bx","size":"12","theirs":"2"}"# + "\n"),
        CommandCase(files: layers, commands: [["read", "--effective", "a.b", "theirs"]], output: "2\n"),
        CommandCase(
            files: layers,
            commands: [
                ["-host", "H", "write", "a.b", "size", "9"], ["read", "-host", "H", "--effective", "a.b", "size"],
            ],
            output: "9\n"),
        // A key that isn't set for the app is found in the global domain.
        CommandCase(files: layers, commands: [["read", "--effective", "c.d", "size"]], output: "1\n"),
        CommandCase(
            files: ["t/e.plist": "{k = v;}"], commands: [["read", "--effective", "$R/t/e", "k"]], output: "v\n"),
        CommandCase(
            files: [:], commands: [["read", "--effective", "a.b"]], status: 1,
            errors: "defaults: The domain a.b does not exist.\n"),
        CommandCase(
            files: layers, commands: [["read", "--effective"]], status: 64,
            errors: "defaults: --effective needs the domain of an app.\n"),
    ]

    static let places: [CommandCase] = [
        CommandCase(
            files: ["p/e.plist": "{k = global;}", "t/e.plist": "{k = v;}"], commands: [["explain", "$R/t/e", "k"]],
            output: "* file  $R/t/e.plist  \"v\"\n"),
        CommandCase(
            files: ["t/e.plist": "{size = v;}"], commands: [["explain", "$R/t/e.plist", "sise"]], status: 1,
            errors: "defaults: The file $R/t/e.plist does not have the key \"sise\". Did you mean \"size\"?\n"),
        CommandCase(
            files: layers, commands: [["explain", "$P/a.b.plist", "mine"]],
            output: "* you, any host  $P/a.b.plist  \"1\"\n"),
        CommandCase(files: layers, commands: [["sync", "$R/t/e", "a.b"]]),
        CommandCase(
            files: ["p/a.b.plist": "{k = 1;}", "t/e.plist": "{k = 2;}"], commands: [["diff", "a.b", "$R/t/e"]],
            status: 1, output: "k  \"1\" → \"2\"\n"),
        CommandCase(
            files: ["p/sh.plist": "{k = 1;}", "p/env.plist": "{k = 2;}"],
            commands: [["diff", "-app", "sh", "-app", "env"]], status: 1, output: "k  \"1\" → \"2\"\n"),
        CommandCase(
            files: ["p/sh.plist": "{k = 1;}", "p/a.b.plist": "{k = 2;}"],
            commands: [["-app", "sh", "diff", "a.b"]], status: 1, output: "k  \"1\" → \"2\"\n"),
        CommandCase(
            files: ["p/sh.plist": "{k = 1;}"], commands: [["explain", "-app", "sh", "k"]],
            output: "* you, any host  $P/sh.plist  \"1\"\n"),
        CommandCase(files: ["p/sh.plist": "{k = 1;}"], commands: [["sync", "-app", "sh", "a.b"]]),
        CommandCase(
            files: ["t/e.plist": "{k = v;}"], commands: [["edit", "$R/t/e"], ["read", "$R/t/e", "k"]],
            output: "new\n", environment: ["VISUAL": "sed -i s/v/new/"]),
    ]

    static let diff: [CommandCase] = [
        CommandCase(
            files: ["p/a.b.plist": "{same = 1; old = x; both = 1;}", "p/c.d.plist": "{same = 1; new = y; both = 2;}"],
            commands: [["diff", "a.b", "c.d"]], status: 1,
            output: "both  \"1\" → \"2\"\nnew  (none) → \"y\"\nold  \"x\" → (none)\n"),
        CommandCase(
            files: ["p/a.b.plist": "{old = x;}", "p/c.d.plist": "{new = y;}"],
            commands: [["diff", "--json", "a.b", "c.d"]], status: 1,
            output: """
                {"changes":[{"key":"new","kind":"added","old":null,"new":"y"},\
                {"key":"old","kind":"removed","old":"x","new":null}]}

                """),
        CommandCase(
            files: ["p/a.b.plist": "{old = x;}"], commands: [["diff", "--color", "always", "a.b", "-"]],
            input: "{old = y;}",
            status: 1, output: "\u{1B}[1mold\u{1B}[0m  \u{1B}[31m\"x\"\u{1B}[0m → \u{1B}[32m\"y\"\u{1B}[0m\n"),
        CommandCase(files: ["p/a.b.plist": "{k = v;}"], commands: [["diff", "a.b", "$P/a.b.plist"]]),
        CommandCase(files: ["p/.GlobalPreferences.plist": "{k = v;}"], commands: [["diff", "-g", "NSGlobalDomain"]]),
        CommandCase(
            files: ["p/.GlobalPreferences.plist": "{k = v;}", "p/a.b.plist": "{k = v;}"],
            commands: [["diff", "a.b", "-g"]]),
        CommandCase(
            commands: [["write", "a.b", "when", "-date", "2020-01-02 03:04:05 +0100"], ["diff", "a.b", "-"]],
            input: "{when = \"2020-01-02 02:04:05 +0000\";}"),
        CommandCase(
            files: ["p/a.b.plist": "{k = v;}"], commands: [["diff", "a.b", "a.bc"]], status: 66,
            errors: "defaults: The domain a.bc does not exist. Did you mean \"a.b\"?\n"),
        CommandCase(
            files: ["p/a.b.plist": "{k = v;}"], commands: [["diff", "a.b", "$R/none.plist"]], status: 66,
            errors: "defaults: $R/none.plist can't be read: No such file or directory.\n"),
        CommandCase(
            files: ["p/a.b.plist": "{k = v;}"], commands: [["diff", "a.b", "-"]], input: "(a)", status: 65,
            errors: "defaults: Standard input holds a value of type array, not a dictionary, so it has no keys.\n"),
    ]

    static let sync: [CommandCase] = [
        CommandCase(commands: [["sync"]]), CommandCase(commands: [["sync", "a.b", "-g"]]),
        CommandCase(
            commands: [["sync", ""]], status: 64,
            errors: "defaults: \"\" isn't a valid domain name: a name has at least one character.\n"),
    ]

    static let gsettings: [CommandCase] = [
        .fails(
            ["gsettings", "status", "--prefer", "dconf"], status: 64,
            "--prefer is for enable and disable. See `defaults help gsettings`."),
        .fails(["gsettings", "enable", "--json"], status: 64, "--json is for status. See `defaults help gsettings`."),
        .fails(
            ["--directory", "$P", "gsettings", "status"], status: 64,
            "`defaults gsettings` works on the preferences that your programs use. Don't use --directory or --socket."),
        .prints(["gsettings", "disable"], output: "GSettings doesn't use defaultsd."),
    ]

    static let nearNames: [CommandCase] =
        [
            ("raed", " Did you mean \"read\"?"), ("tial", " Did you mean \"tail\"?"),
            ("explian", " Did you mean \"explain\"?"), ("x", ""), ("frobnicate", ""), ("fontSize", ""),
            ("Raed", " Did you mean \"read\"?"),
        ].flatMap { verb, end in
            [[verb, "a.b"], ["help", verb], ["--directory", "$P", verb]].map { command in
                CommandCase(
                    commands: [command], status: 64,
                    errors: "defaults: Unknown verb \"\(verb)\".\(end) See `defaults --help`.\n")
            }
        } + [
            CommandCase(
                files: layers, commands: [["read", "A.B"]], status: 1,
                errors: "defaults: The domain A.B does not exist. Did you mean \"a.b\"?\n"),
            CommandCase(
                files: layers, commands: [["read", "a.b", "szie"]], status: 1,
                errors: "defaults: The domain a.b has no key \"szie\". Did you mean \"size\"?\n"),
            CommandCase(
                files: layers, commands: [["delete", "a.b", "other"]], status: 1,
                errors: "defaults: The domain a.b has no key \"other\"; nothing is deleted.\n"),
            CommandCase(
                files: layers, commands: [["delete", "a.b", "szie"]], status: 1,
                errors:
                    "defaults: The domain a.b has no key \"szie\"; nothing is deleted. Did you mean \"size\"?\n"),
            CommandCase(
                files: layers, commands: [["delete", "a.bb"]], status: 1,
                errors: "defaults: The domain a.bb does not exist; nothing is deleted. Did you mean \"a.b\"?\n"),
            CommandCase(
                files: layers, commands: [["delete-all", "a.b", "szie"]], status: 1,
                errors: "defaults: The domain a.b has no key \"szie\" for any host; nothing is deleted. "
                    + "Did you mean \"size\"?\n"),
            CommandCase(
                files: layers, commands: [["rename", "a.b", "szie", "x"]], status: 1,
                errors: "defaults: Key \"szie\" does not exist in the domain a.b; leaving defaults unchanged. "
                    + "Did you mean \"size\"?\n"),
            CommandCase(
                files: layers, commands: [["rename", "a.bb", "size", "x"]], status: 1,
                errors: "defaults: Key \"size\" does not exist in the domain a.bb; leaving defaults unchanged. "
                    + "Did you mean \"a.b\"?\n"),
            CommandCase(
                files: layers, commands: [["export", "a.bb", "-"]], status: 1,
                errors: "defaults: The domain a.bb does not exist. Did you mean \"a.b\"?\n"),
            CommandCase(
                files: layers, commands: [["read-type", "a.b", "szie"]], status: 1,
                errors: "defaults: The domain a.b has no key \"szie\". Did you mean \"size\"?\n"),
            CommandCase(
                files: ["t/file.plist": "{}"], commands: [["read", "$R/t/fiel"]], status: 1,
                errors:
                    "defaults: The file $R/t/fiel.plist does not exist. Did you mean \"$R/t/file.plist\"?\n"),
            CommandCase(
                files: ["p/a.b.plist": "{d = {size = 1;};}"], commands: [["read", "a.b", "d.szie"]], status: 1,
                errors: "defaults: \"d\" in the domain a.b has no key \"szie\". Did you mean \"size\"?\n"),
            CommandCase(
                commands: [["read", "-currenthost", "a.b"]], status: 64,
                errors:
                    "defaults: Unknown option \"-currenthost\". Did you mean \"-currentHost\"? Use -- before a domain "
                    + "or key that starts with a dash. See `defaults help read`.\n"),
            CommandCase(
                commands: [["write", "a.b", "k", "-itn", "5"]], status: 64,
                errors:
                    "defaults: Unknown type \"-itn\"; leaving defaults unchanged. Did you mean \"-int\"? "
                    + "For plain text, put -string before it.\n"),
            CommandCase(
                commands: [["write", "a.b", "-bool", "true"]], status: 64,
                errors:
                    "defaults: The key is missing before -bool; leaving defaults unchanged. "
                    + "For a key of that name, put -- before it.\n"),
            CommandCase(
                commands: [["write", "a.b", "--", "-bool", "true"], ["read", "a.b", "--", "-bool"]], output: "true\n"),
            CommandCase(
                commands: [["write", "a.b", "-currentHost", "k", "v"]], status: 64,
                errors:
                    "defaults: -currentHost belongs before the domain; leaving defaults unchanged. "
                    + "For a key of that name, put -- before it.\n"),
            CommandCase(
                commands: [["write", "a.b", "k", "-currentHost"]], status: 64,
                errors:
                    "defaults: Unknown type \"-currentHost\"; leaving defaults unchanged. It belongs before "
                    + "the domain. For plain text, put -string before it.\n"),
            CommandCase(
                commands: [["write", "a.b", "k", "v", "-currentHost"]], status: 64,
                errors:
                    "defaults: Unexpected argument \"-currentHost\"; leaving defaults unchanged. It belongs before the "
                    + "domain.\n"),
            CommandCase(commands: [["-g", "write", "k", "v"], ["-globalDomain", "read", "k"]], output: "v\n"),
            CommandCase(
                files: ["t/e": "{}"], commands: [["read", "$R/t/e"]], status: 1,
                errors:
                    "defaults: The file $R/t/e.plist does not exist. To read $R/t/e, use `defaults convert` or "
                    + "`defaults import`.\n"),
            CommandCase(
                files: ["p/a.b.plist": "{d = {size = 1;};}"], commands: [["explain", "a.b", "d.size"]], status: 1,
                errors:
                    "defaults: No layer of a.b has the key \"d.size\". Values inside \"d\" come from the same "
                    + "layer as \"d\"; run `explain` on that key.\n"),
            CommandCase(
                files: ["p/a.b.plist": "{size = 5; \"size.height\" = 1;}"],
                commands: [["explain", "a.b", "size.heigth"]],
                status: 1,
                errors: "defaults: No layer of a.b has the key \"size.heigth\". Did you mean \"size.height\"?\n"),
            CommandCase(
                commands: [["-g", "convert", "x"]], status: 64,
                errors: "defaults: `convert` takes no domain, but NSGlobalDomain was given before it.\n"),
            CommandCase(
                commands: [["status", "--foo"]], status: 64,
                errors: "defaults: Unknown option \"--foo\". See `defaults help status`.\n"),
            CommandCase(
                commands: [
                    ["write", "--force", "a.b", "k", "-int", "5"], ["write", "--json", "a.b", "n", "-5"],
                    ["read", "a.b"],
                ], output: "{\n    k = 5;\n    n = \"-5\";\n}\n"),
            CommandCase(
                commands: [["-host=A-B", "write", "a.b", "k", "v"], ["-host=A-B", "read", "a.b", "k"]], output: "v\n"),
            CommandCase(
                commands: [["read", "--it's"]], status: 64,
                errors:
                    "defaults: Unknown option \"--it's\". Use -- before a domain or key that starts with a dash. "
                    + "See `defaults help read`.\n"),
            CommandCase(
                files: ["p/a.plist.plist": "{k = v;}"], commands: [["read", "a.plist", "k"]], output: "v\n"),
            CommandCase(
                commands: [["read", "$P"]], status: 1,
                errors: "defaults: The file $P.plist does not exist.\n"),
            CommandCase(
                files: ["p/a.b.plist": "{"], commands: [["explain", "a.b", "k"]], status: 65,
                errors:
                    "defaults: $P/a.b.plist: Old-style property list, line 1, column 2 (byte 1): "
                    + "expected a key or }, found the end of the text.\n"
                    + "defaults: No readable layer has the key \"k\".\n"),
            CommandCase(
                commands: [["--json", "read", "a.b"]], status: 64,
                errors:
                    "defaults: Put --json after the verb. See `defaults help read`.\n"
            ),
            CommandCase(
                files: ["p/a.b.plist": "{}"],
                commands: [
                    ["write", "a.b", String(repeating: "k", count: 20_000), "v"],
                    ["read", "a.b", String(repeating: "k", count: 19_999)],
                ], status: 1,
                errors:
                    "defaults: The domain a.b has no key \"\(String(repeating: "k", count: 19_999))\".\n"),
            CommandCase(
                commands: [["export", "a.b", ""]], status: 1, errors: "defaults: The domain a.b does not exist.\n"),
            CommandCase(
                files: ["p/a,b.plist": "{k = 1;}", "p/c.plist": "{"], commands: [["domains", "--json"]],
                output: "[\"a,b\",\"c\"]\n"),
            CommandCase(
                commands: [["import", "a.b", ""]], status: 66,
                errors: "defaults: The file \"\" can't be read: No such file or directory.\n"),
            CommandCase(
                files: ["t/e": "{k = v;}"],
                commands: [
                    ["convert", "--to", "xml1", "$R/t/e", "$R/t/f"],
                    ["convert", "--to", "old-style", "$R/t/f"],
                ],
                output: "{\n    k = v;\n}\n"),
            CommandCase(
                commands: [["read", "--jsn", "a.b"]], status: 64,
                errors:
                    "defaults: Unknown option \"--jsn\". Did you mean \"--json\"? Use -- before a domain or key that "
                    + "starts with a dash. See `defaults help read`.\n"),
            CommandCase(
                commands: [["read", "a.b", "-foo"]], status: 64,
                errors:
                    "defaults: Unknown option \"-foo\". Use -- before a domain or key that starts with a dash. "
                    + "See `defaults help read`.\n"),
        ]

    @Test(
        "A verb does the same with and without an agent",
        arguments: explain + effective + places + diff + sync + gsettings + nearNames)
    func same(_ row: CommandCase) throws { try row.check() }

    @Test("A managed value wins over all others", .enabled(if: geteuid() == 0))
    func managed() throws {
        try CommandCase(
            files: ["managed/a.b.plist": "{size = 0;}", "p/a.b.plist": "{size = 12;}"],
            commands: [["explain", "a.b", "size"]],
            output:
                "* managed        $R/managed/a.b.plist  \"0\"\n  you, any host  $P/a.b.plist        \"12\"\n"
        ).check()
    }

    @Test(
        "Colors depend on the option, then NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, then the terminal",
        arguments: [
            ([:], [], false), (["NO_COLOR": "1", "CLICOLOR_FORCE": "1"], [], false),
            (["CLICOLOR_FORCE": "1"], [], true),
            (["FORCE_COLOR": "1"], [], true), (["CLICOLOR_FORCE": "0"], [], false),
            (["NO_COLOR": "", "FORCE_COLOR": "1"], [], true),
            (["NO_COLOR": "1"], ["--color", "always"], true), (["CLICOLOR_FORCE": "1"], ["--color", "never"], false),
        ] as [([String: String], [String], Bool)])
    func colors(environment: [String: String], options: [String], isColored: Bool) throws {
        let clean = ["NO_COLOR": "", "CLICOLOR_FORCE": "", "FORCE_COLOR": ""]
        try AgentProcess.withPlace { place in
            try RawFile.write("{k = v;}", to: place.path("a.b"))
            let variables = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }.merging(clean) { $1 }
            let outcome = try Programs.run(
                Programs.defaults, ["diff"] + options + ["a.b", "-"],
                environment: variables.merging(environment) { $1 }, input: "{}")
            #expect(outcome.output.contains("\u{1B}") == isColored)
        }
    }

    @Test("When `sync` returns, file changes have been sent to subscribers, and edits are in their files")
    func barrier() throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let connection = try agent.connect()
            _ = try connection.subscribe(
                .now, filter: SubscriptionFilter(domains: [GlobPattern("a.*")]), mode: .everything)
            try connection.edit(Domain(DomainName("a.edited")), with: ["k": 1], replacesAll: false)
            try RawFile.replace(agent.place.path("a.file"), with: "{k = v;}".utf8)
            #expect(try agent.defaults("sync").status == 0)
            #expect(RawFile.exists(agent.place.path("a.edited")))
            var texts: [String] = []
            while texts.count < 2, let event = try connection.nextEvent(within: 0) {
                if case .record = event { texts.append(Follower.text(event)) }
            }
            #expect(texts == ["a.edited: k ->1 (app)", "a.file: k ->v (file)"])
        }
    }

    @Test("`sync` reports what can't be saved, with status 74")
    func unsaved() throws {
        try AgentProcess.withAgent { agent in
            try RawFile.makeDirectory(agent.place.path("a.b"))
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["k": 1], replacesAll: false)
            let outcome = try agent.defaults("sync", "a.b")
            #expect(outcome.status == 74 && outcome.output == "")
            #expect(outcome.errors.hasPrefix("defaults: ") && outcome.errors.contains(agent.place.path("a.b")))
        }
    }

    @Test("DEFAULTS_NO_AGENT makes the command use the files, whatever the agent does")
    func noAgent() throws {
        try AgentProcess.withAgent { agent in
            agent.signal(SIGSTOP)
            defer { agent.signal(SIGCONT) }
            let variables = agent.place.environment.merging(["DEFAULTS_NO_AGENT": "1"]) { $1 }
            for (arguments, status, output) in [
                (["write", "a.b", "k", "v"], 0, ""), (["read", "a.b", "k"], 0, "v\n"), (["domains"], 0, "a.b\n"),
                (["sync"], 0, ""), (["tail"], 64, ""),
            ] as [([String], Int32, String)] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: variables)
                #expect(outcome.status == status && outcome.output == output, "\(arguments): \(outcome.errors)")
            }
        }
    }

    @Test("Explaining a key doesn't count as reading its file")
    func explainUnseen() throws {
        try AgentProcess.withAgent { agent in
            let place = agent.place
            try Programs.run(Programs.defaults, ["write", "a.b", "k", "v"], environment: place.environment)
            func accessTime() throws -> timespec { try RawFile.status(place.path("a.b")).st_atim }
            let before = try accessTime()
            let outcome = try Programs.run(
                Programs.defaults, ["explain", "--json", "a.b", "k"], environment: place.environment)
            #expect(outcome.output.contains(#""format":"xml""#))
            let after = try accessTime()
            #expect(after.tv_sec == before.tv_sec && after.tv_nsec == before.tv_nsec)
        }
    }

    @Test(
        "A stopped agent is reported within seconds, with status 75 and a remedy",
        arguments: [
            (["status"], 5), (["read", "a.b"], 5), (["explain", "a.b", "k"], 5), (["tail"], 5),
            (["tail", "--timeout", "2"], 2),
        ] as [([String], Double)])
    func stopped(arguments: [String], seconds: Double) throws {
        try AgentProcess.withAgent { agent in
            agent.signal(SIGSTOP)
            defer { agent.signal(SIGCONT) }
            let start = ContinuousClock.now
            let outcome = try Programs.run(Programs.defaults, arguments, environment: agent.place.environment)
            let duration = (ContinuousClock.now - start) / .seconds(1)
            // A loaded machine takes longer, but not half a minute.
            #expect(duration >= seconds && duration < seconds + 15)
            #expect(outcome.status == 75 && outcome.output == "")
            let silence = try #require(outcome.errors.firstMatch(of: #/for ([0-9.]+) s/#)?.output.1)
            let time = try #require(Double(silence))
            // With a timeout, the time until the command asks the agent counts, too.
            #expect(time <= seconds && (time == seconds || arguments.contains("--timeout")))
            #expect(
                outcome.errors == """
                    defaults: The agent (pid \(agent.pid)) has not responded for \(silence) s. It is stopped. \
                    To resume it, run `kill -CONT \(agent.pid)`; to continue without it, run `kill -KILL \(agent.pid)`.

                    """)
        }
    }
}
