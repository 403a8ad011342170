import DefaultsClient
import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Files whose reading takes long, which must hold up neither edits nor the agent's end.
@Suite("Slow reading", .enabled(if: Injection.isPossible))
struct SlowReadingTests {
    /// A file too large to be read on the agent's loop.
    private static func writeLargeFile(_ place: AgentProcess.Place) throws {
        try RawFile.write("{ text = \(String(repeating: "x", count: 100_000)); }", to: place.path("large"))
    }

    /// Delays the reading by longer than the test takes.
    private static let delay = "pread64:delay_enter=60000000"

    @Test("While a file is read slowly, edits of another domain are saved, and SIGTERM ends the agent")
    func saves() throws {
        try AgentProcess.withAgent { agent in
            let fault = try AttachedFault(agent.pid, at: [agent.place.path("large")], Self.delay)
            try Self.writeLargeFile(agent.place)
            let connection = try agent.connect()
            for number in 1...3 {
                try connection.edit(Domain(DomainName("a.b")), with: ["n": .integer(Int64(number))], replacesAll: false)
                let isSaved = eventually {
                    let bytes = try? RawFile.read(agent.place.path("a.b"))
                    return bytes.flatMap { try? PropertyListValue(parsing: $0) } == ["n": .integer(Int64(number))]
                }
                #expect(isSaved)
            }
            agent.signal(SIGTERM)
            // strace holds up the end of the process, but not of the agent.
            #expect(eventually(within: 30) { !RawFile.exists(agent.place.socket) })
            fault.end(afterDeath: true)
            #expect(agent.status(within: 30) == 0)
        }
    }

    @Test("While a file is read slowly, a barrier of another domain doesn't wait for it, and all others do")
    func barrier() throws {
        try AgentProcess.withAgent { agent in
            let fault = try AttachedFault(agent.pid, at: [agent.place.path("large")], Self.delay)
            defer { fault.end(afterDeath: true) }
            try Self.writeLargeFile(agent.place)
            // The agent has now begun to read the file, as it reads the events before it answers.
            for number in 1...3 {
                let write = try agent.start("write", "a.b", "n", "-int", "\(number)")
                #expect(write.status(within: 30) == 0)
                let values = try PropertyListValue(parsing: RawFile.read(agent.place.path("a.b")))
                #expect(values == ["n": .integer(Int64(number))])
            }
            // Another program's change, too, is in effect after the barrier.
            try RawFile.replace(agent.place.path("a.b"), with: PropertyListValue.dictionary(["n": 4]).write(as: .xml))
            let sync = try agent.start("sync", "a.b")
            #expect(sync.status(within: 30) == 0)
            #expect(try agent.defaults("read", "a.b", "n").output == "4\n")
            // A barrier of the domain itself, in any layer, or of all domains waits.
            let others = try [["sync", "large"], ["-host", "other", "sync", "large"], ["sync"]].map { arguments in
                try RunningProgram(Programs.defaults, arguments, environment: agent.place.environment)
            }
            #expect(try agent.defaults("write", "a.b", "n", "5").status == 0)
            for program in others { #expect(program.isRunning) }
            fault.end()
            for program in others { #expect(program.status(within: 60) == 0) }
            #expect(try agent.defaults("read", "large").status == 0)
        }
    }

    @Test("SIGTERM and SIGINT end an agent that is still reading its files", arguments: [SIGTERM, SIGINT])
    func start(_ signal: Int32) throws {
        try AgentProcess.withPlace { place in
            try Self.writeLargeFile(place)
            let strace = try RunningProgram(
                "/usr/bin/strace",
                [
                    "-f", "-o", "/dev/null", "-P", place.path("large"), "-e", "inject=\(Self.delay)",
                    Programs.defaultsd,
                ], environment: place.environment)
            defer { strace.kill() }
            let directory = PreferencesDirectory(path: place.preferences)
            let hasStarted = eventually { AgentClaim.holder(ofDirectory: directory) != nil }
            let pid = AgentClaim.holder(ofDirectory: directory)?.pid
            #expect(hasStarted && pid.map { Glibc.kill($0, signal) } == 0)
            // strace holds up the end of the process, but not of the agent.
            #expect(eventually { !RawFile.exists("\(place.preferences)/\(AgentClaim.fileName)") })
        }
    }
}
