import ProgramSupport
import TestSupport
import Testing

/// What the command inherits from who starts it, and must not be misled by.
@Suite("What the command inherits")
struct InheritanceTests {
    /// Runs a script of the shell that calls `defaults`.
    private static func run(_ script: String, _ agent: AgentProcess) throws -> Programs.Outcome {
        try Programs.shell(
            "defaults() { '\(Programs.defaults)' \"$@\"; }\n\(script)", in: agent.place.root,
            environment: agent.place.environment)
    }

    @Test(
        "Where standard output is closed nothing goes elsewhere, and the status says so",
        arguments: ["status", "read a.b k", "read a.b", "read --json a.b", "export a.b -", "export a.b /dev/stdout"])
    func closedOutput(_ command: String) throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            let outcome = try Self.run("defaults \(command) >&- || echo $?", agent)
            #expect(outcome.output == "74\n")
            #expect(outcome.errors.hasPrefix("defaults: Standard output can't be written: "))
        }
    }

    @Test("Standard input and error may be closed", arguments: ["<&-", "2>&-", "<&- 2>&-"])
    func closedOthers(_ closed: String) throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            #expect(try Self.run("defaults read a.b k \(closed)", agent).output == "v\n")
            #expect(try Self.run("defaults read a.b x \(closed) || echo $?", agent).output == "1\n")
        }
    }

    @Test("Input that is closed is no empty input")
    func closedInput() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            #expect(try Self.run("defaults import a.b - <&- || echo $?", agent).output == "74\n")
            #expect(try agent.defaults("read", "a.b", "k").output == "v\n")
        }
    }

    @Test("An ignored SIGCHLD hides no end of a child", arguments: ["", "trap '' CHLD"])
    func ignoredChildren(_ trap: String) throws {
        try AgentProcess.withAgent { agent in
            let edit = try Self.run("\(trap)\nEDITOR='exit 3;' VISUAL= defaults edit a.b || echo $?", agent)
            #expect(edit.output == "69\n" && edit.errors.contains("ended with status 3; nothing is set."))
            try agent.defaults("write", "a.b", "k", "v")
            let initial = try Self.run("\(trap)\ndefaults tail --initial --timeout 1 --exec 'echo ran'", agent)
            #expect(initial.output == "ran\n" && initial.errors == "")
        }
    }

    @Test(
        "A reader that has gone ends any verb with status 0",
        arguments: ["read a.b", "read a.b k", "export a.b -", "find x", "export a.b /dev/stdout"])
    func goneReader(_ command: String) throws {
        try AgentProcess.withAgent { agent in
            // More than a pipe holds.
            try agent.defaults("write", "a.b", "k", String(repeating: "x", count: 100_000))
            let outcome = try Self.run("{ defaults \(command); echo $? >&2; } | true", agent)
            #expect(outcome.errors == "0\n")
        }
    }
}
