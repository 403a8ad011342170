import ProgramSupport
import TestSupport
import Testing

/// Inherited state, such as closed descriptors and ignored signals, that must not mislead the command.
@Suite("Inherited process state")
struct InheritanceTests {
    /// Runs a shell script that calls `defaults`.
    private static func run(_ script: String, _ agent: AgentProcess) throws -> Programs.Outcome {
        try Programs.shell(
            "defaults() { '\(Programs.defaults)' \"$@\"; }\n\(script)", in: agent.place.root,
            environment: agent.place.environment)
    }

    @Test(
        "With standard output closed, a command prints nothing elsewhere and fails with status 74",
        arguments: ["status", "read a.b k", "read a.b", "read --json a.b", "export a.b -", "export a.b /dev/stdout"])
    func closedOutput(_ command: String) throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            let outcome = try Self.run("defaults \(command) >&- || echo $?", agent)
            #expect(outcome.output == "74\n")
            #expect(outcome.errors.hasPrefix("defaults: Standard output can't be written: "))
        }
    }

    @Test("The command works with standard input or standard error closed", arguments: ["<&-", "2>&-", "<&- 2>&-"])
    func closedOthers(_ closed: String) throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            #expect(try Self.run("defaults read a.b k \(closed)", agent).output == "v\n")
            #expect(try Self.run("defaults read a.b x \(closed) || echo $?", agent).output == "1\n")
        }
    }

    @Test("An import from closed standard input fails and leaves the domain unchanged")
    func closedInput() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            #expect(try Self.run("defaults import a.b - <&- || echo $?", agent).output == "74\n")
            #expect(try agent.defaults("read", "a.b", "k").output == "v\n")
        }
    }

    @Test("An ignored SIGCHLD doesn't hide how a child process ended", arguments: ["", "trap '' CHLD"])
    func ignoredChildren(_ trap: String) throws {
        try AgentProcess.withAgent { agent in
            let edit = try Self.run("\(trap)\nEDITOR='exit 3;' VISUAL= defaults edit a.b || echo $?", agent)
            #expect(edit.output == "69\n" && edit.errors.contains("exited with status 3; nothing was changed."))
            try agent.defaults("write", "a.b", "k", "v")
            let initial = try Self.run("\(trap)\ndefaults tail --initial --timeout 1 --exec 'echo ran'", agent)
            #expect(initial.output == "ran\n" && initial.errors == "")
        }
    }

    @Test(
        "A verb exits with status 0 when the reader of its output is gone",
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
