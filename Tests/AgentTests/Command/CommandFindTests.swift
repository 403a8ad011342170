import DefaultsClient
import DefaultsCore
import DefaultsKit
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The verbs `domains` and `find`.
@Suite("Commands over all domains")
struct CommandFindTests {
    private static let kv = ["write", "a.b", "k", "v"]

    static let finding: [CommandCase] = [
        .prints(["write", "c.d", "k", "v"], kv, ["write", "-g", "k", "v"], ["domains"], output: "a.b, c.d"),
        .isSilent(["domains"]), .isSilent(["write", "-g", "k", "v"], ["domains"]),
        .isSilent(["write", "-host", "H", "a.b", "k", "v"], ["domains"]),
        .prints(["write", "-host", "H", "a.b", "k", "v"], ["domains", "-host", "H"], output: "a.b"),
        .fails(["domains", "x"], status: 64, "Unexpected argument 'x'. See `defaults help domains`."),
        .prints(
            ["write", "a.b", "{Word = 1; other = 2;}"], ["write", "c.d", "k", "{x = (\"a wORd\");}"],
            ["write", "my.words", "{p = 1; q = 2;}"], ["find", "WOrd"],
            output: """
                Found 1 keys in domain 'a.b': {
                    Word = 1;
                }
                Found 1 keys in domain 'c.d': {
                    k =     {
                        x =         (
                            "a wORd"
                        );
                    };
                }
                Found 2 keys in domain 'my.words': {
                    p = 1;
                    q = 2;
                }
                """),
        .prints(
            ["write", "a.b", "k", "{Inner = 1;}"], ["find", "inner"],
            output: "Found 1 keys in domain 'a.b': {\n    k =     {\n        Inner = 1;\n    };\n}"),
        .prints(
            ["write", "a.b", "k", "ÄRGER"], ["find", "ärg"],
            output: "Found 1 keys in domain 'a.b': {\n    k = \"ÄRGER\";\n}"),
        .prints(
            ["write", "-g", "k", "v"], ["find", "apple global"],
            output: "Found 1 keys in domain 'Apple Global Domain': {\n    k = v;\n}"),
        .prints(
            kv, ["write", "-host", "H", "a.b", "k", "vh"], ["-host", "H", "find", "v"],
            output: "Found 1 keys in domain 'a.b': {\n    k = vh;\n}"),
        .fails(
            ["write", "a.b", "k", "-int", "77"], ["find", "7"], status: 1, "No domain, key, nor value containing '7'"),
        .fails(["find", "zzz"], status: 1, "No domain, key, nor value containing 'zzz'"),
        .fails(["find"], status: 64, "Missing expected argument '<word>'. See `defaults help find`."),
    ]

    @Test("`domains` and `find` print what they find, or report that there is nothing", arguments: finding)
    func find(_ row: CommandCase) throws { try row.check() }

    @Test("`find` finds values that the agent hasn't saved yet")
    func unsaved() throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let connection = try agent.connect()
            let domain = try Domain(DomainName("a.b"))
            try connection.edit(domain, with: ["k": "hidden"], replacesAll: false)
            #expect(
                try agent.defaults("find", "hidden").output == "Found 1 keys in domain 'a.b': {\n    k = hidden;\n}\n")
            #expect(!RawFile.exists(agent.place.path("a.b")))
        }
    }

    @Test(
        "A domain's name can't send control sequences to the terminal",
        arguments: [("x\u{1B}[31my", #"x\u001b[31my"#), ("x\u{9B}31my", #"x\u009b31my"#), ("x\u{202E}y", #"x\u202ey"#)])
    func terminal(name: String, shown: String) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{k = v;}", to: place.path(name))
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            let domains = try Programs.run(Programs.defaults, ["domains"], environment: environment)
            #expect(domains.output == "\(shown)\n")
            let find = try Programs.run(Programs.defaults, ["find", "v"], environment: environment)
            #expect(find.output == "Found 1 keys in domain '\(shown)': {\n    k = v;\n}\n")
        }
    }
}
