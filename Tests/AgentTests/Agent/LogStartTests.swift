import DefaultsClient
import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Agents that start with a log that can't be read, or that is damaged.
@Suite("Starting with a bad log")
struct LogStartTests {
    private static let names = ["org.a", "org.b", "org.c", "org.d", "org.e"]

    /// Runs a test where a killed agent has left unsaved edits of several domains in its log.
    private func withUnsavedEdits(_ body: (_ place: AgentProcess.Place, _ log: String) throws -> Void) throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place)
            try agent.holdEdits()
            let connection = try agent.connect()
            for name in Self.names {
                try connection.edit(Domain(DomainName(name)), with: ["k": "edited"], replacesAll: false)
            }
            agent.kill()
            #expect(!RawFile.exists(place.path(Self.names[0])))
            try body(place, try place.log())
        }
    }

    /// Returns the domains whose unsaved edits are in effect.
    private func restored(_ agent: AgentProcess) throws -> [String] {
        let connection = try agent.connect()
        return try Self.names.filter {
            try connection.snapshot(of: Domain(DomainName($0))).values == ["k": "edited"]
        }
    }

    /// The command prefix that makes opening a file fail.
    private func failing(_ log: String, _ occurrences: String) -> [String] {
        [
            "/usr/bin/strace", "-D", "-f", "-o", "/dev/null", "-P", log, "-e", "trace=openat", "-e",
            "inject=openat:error=EIO\(occurrences)",
        ]
    }

    @Test("One failed attempt to open the log loses no unsaved edit", .enabled(if: Injection.isPossible))
    func failsOnce() throws {
        try withUnsavedEdits { place, log in
            let agent = try AgentProcess(place, launcher: failing(log, ":when=1"))
            defer { agent.kill() }
            let restored = try restored(agent)
            #expect(restored == Self.names && !RawFile.exists(log + ".damaged-1"))
        }
    }

    @Test("An agent that can't open its log doesn't start, and leaves it alone", .enabled(if: Injection.isPossible))
    func failsAlways() throws {
        try withUnsavedEdits { place, log in
            let bytes = try RawFile.read(log)
            let command = failing(log, "") + [Programs.defaultsd]
            let outcome = try Programs.run(command[0], Array(command[1...]), environment: place.environment)
            #expect(outcome.status == 69 && outcome.errors.contains("\(log) can't be read"), "\(outcome)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
            let left = try RawFile.read(log)
            #expect(left == bytes)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            #expect(try restored(agent) == Self.names)
        }
    }

    @Test("One flipped bit in the log loses no unsaved edit of other domains")
    func flipped() throws {
        try withUnsavedEdits { place, log in
            let whole = try RawFile.read(log)
            let name = Array(Self.names[0].utf8)
            let start = try #require(whole.indices.first { whole[$0...].starts(with: name) })
            var bytes = Array(whole)
            bytes[start] ^= 1
            try RawFile.write(bytes, to: log)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            let restored = try restored(agent)
            #expect(Array(restored.suffix(4)) == Array(Self.names.dropFirst()))
            #expect(try RawFile.read(log + ".damaged-1") == bytes)
            let status = try agent.defaults("log")
            #expect(status.output.contains("org.e"))
        }
    }
}
