import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Commands on a domain whose file can't be parsed.
@Suite("Commands on damaged domains")
struct CommandDamageTests {
    private static let damage =
        "$P/bad.plist: Old-style property list, line 1, column 2 (byte 1): expected a key or }, found the end of "
        + "the text."

    static let refusals: [CommandCase] = [
        ["read", "bad"], ["read", "bad", "k"], ["read-type", "bad", "k"], ["rename", "bad", "k", "l"],
        ["delete", "bad"], ["delete", "bad", "k"], ["delete-all", "bad"], ["export", "bad", "-"],
        ["export", "bad", "$T/e"],
    ].map { .fails($0, status: 65, damage) }

    @Test("A command that needs values reports what is wrong with the file and leaves it alone", arguments: refusals)
    func refuse(_ row: CommandCase) throws {
        let files = try row.check { try RawFile.write("{", to: $0.path("bad")) }
        #expect(files == ["bad.plist": Array("{".utf8)])
    }

    static let replacements: [CommandCase] = [
        ["write", "bad", "k", "v"], ["write", "bad", "{k = v;}"], ["write", "bad", "k", "-array-add", "v"],
        ["write", "--key-path", "bad", "k.l", "v"], ["import", "bad", "-"],
    ].map {
        CommandCase(
            commands: [$0], input: "{k = v;}",
            errors: "defaults: \(damage) If it is replaced, a backup copy is kept beside it.\n",
            furtherErrors: "defaults: The damaged file was saved to $P/bad.plist.damaged-1.\n")
    }

    @Test("A command that sets values keeps a copy of the damaged file and says so", arguments: replacements)
    func replace(_ row: CommandCase) throws {
        let files = try row.check { try RawFile.write("{", to: $0.path("bad")) }
        #expect(files.keys.sorted() == ["bad.plist", "bad.plist.damaged-1"])
        #expect(files["bad.plist.damaged-1"] == Array("{".utf8))
        #expect(try PropertyListValue(parsing: files["bad.plist"] ?? []) != [:])
    }

    @Test("A command that reads all domains reports a damaged one and leaves it out", arguments: [true, false])
    func damaged(_ hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{", to: place.path("bad"))
            try RawFile.write("{k = v;}", to: place.path("good"))
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            for (arguments, output) in [
                (["read"], "{\n    good =     {\n        k = v;\n    };\n}\n"),
                (["find", "v"], "Found 1 keys in domain 'good': {\n    k = v;\n}\n"),
            ] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(outcome.output == output)
                #expect(outcome.status == 65)
                #expect(outcome.errors.hasPrefix("defaults: \(place.path("bad")): Old-style property list, line 1"))
                #expect(outcome.errors.hasSuffix(" It is left out.\n"))
            }
        }
    }

    @Test(
        "A command that changes the last good values of a damaged domain says so and keeps a copy of the file",
        arguments: [
            ["delete", "bad", "k"], ["delete", "bad"], ["rename", "bad", "k", "l"], ["delete-all", "bad", "k"],
        ])
    func lastGood(_ arguments: [String]) throws {
        try AgentProcess.withAgent { agent in
            let path = agent.place.path("bad")
            try agent.defaults("write", "bad", "{k = v; other = w;}")
            try RawFile.write("{", to: path)
            #expect(try eventually { try agent.defaults("read", "bad").errors.contains("last good values") })
            let outcome = try Programs.run(Programs.defaults, arguments, environment: agent.place.environment)
            #expect(outcome.status == 0)
            #expect(outcome.errors.hasPrefix("defaults: \(path): Old-style property list, line 1"))
            #expect(outcome.errors.hasSuffix(" If it is replaced, a backup copy is kept beside it.\n"))
            #expect(try RawFile.read("\(path).damaged-1") == Array("{".utf8))
        }
    }
}
