import DefaultsCore
import Foundation
import Glibc
import Linux
import ProgramSupport
import TestSupport
import Testing

/// SIGUSR2, with which an installer makes a running agent restart as the installed version.
@Suite("Restarts in place")
struct InPlaceRestartTests {
    /// Runs a test with an agent that was started from a copy of the program, which the test may replace.
    private func withCopy(
        _ body: (_ place: AgentProcess.Place, _ program: String, _ agent: RunningProgram) throws -> Void
    ) throws {
        try AgentProcess.withPlace { place in
            let program = place.root + "/defaultsd"
            try Programs.shell("cp \(Programs.defaultsd) \(program)", in: place.root)
            let agent = try RunningProgram(program, [], environment: place.environment)
            try #require(eventually { access(place.socket, F_OK) == 0 })
            try body(place, program, agent)
        }
    }

    private func executable(of agent: RunningProgram) -> String {
        String(decoding: SystemCall.target(ofLink: "/proc/\(agent.pid)/exe") ?? [], as: UTF8.self)
    }

    @Test("The process continues as the installed program, and a follower misses nothing")
    func follower() throws {
        try withCopy { place, program, agent in
            let tail = try RunningProgram(Programs.defaults, ["tail", "--json", "a.b"], environment: place.environment)
            _ = try tail.objects(upTo: "ready")
            try Programs.shell("cp \(program) new; mv new \(program)", in: place.root)
            #expect(executable(of: agent) == program + " (deleted)")
            // The edit is in effect but not saved when the signal arrives.
            try Programs.run(
                Programs.defaults, ["write", AgentSettings.domainName, "SaveDelay", "-int", "60000"],
                environment: place.environment)
            let status = try Programs.run(
                Programs.defaults, ["write", "a.b", "key", "before"], environment: place.environment)
            #expect(status.status == 0)
            agent.signal(SIGUSR2)
            #expect(eventually { executable(of: agent) == program })
            #expect(eventually { access(place.socket, F_OK) == 0 })
            try Programs.run(Programs.defaults, ["write", "a.b", "key", "after"], environment: place.environment)
            var values: [String] = []
            while values.last != "after" {
                let object = try tail.object()
                #expect(object["type"] as? String != "gap")
                let changes = object["changes"] as? [[String: Any]] ?? []
                values += changes.compactMap { $0["new"] as? String }
            }
            #expect(values == ["before", "after"])
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }

    @Test("An agent whose program was removed keeps running")
    func removed() throws {
        try withCopy { place, program, agent in
            unlink(program)
            agent.signal(SIGUSR2)
            agent.signal(SIGHUP)
            let status = try Programs.run(Programs.defaults, ["status"], environment: place.environment)
            #expect(status.status == 0 && status.output.contains("pid \(agent.pid)"))
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
            #expect(agent.complaints().contains("This version keeps running."))
        }
    }

    @Test("A program that can't run ends the agent with an error, after it has saved everything")
    func broken() throws {
        try withCopy { place, program, agent in
            try Programs.shell("echo broken >new; chmod +x new; mv new \(program)", in: place.root)
            try Programs.run(Programs.defaults, ["write", "a.b", "key", "value"], environment: place.environment)
            agent.signal(SIGUSR2)
            #expect(agent.status() == 69)
            #expect(agent.complaints().contains("The program \(program) can't be started: Exec format error."))
            let read = try Programs.run(
                Programs.defaults, ["read", "a.b", "key"],
                environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
            #expect(read.output == "value\n")
        }
    }

    @Test("SIGTERM turns a restart that has begun into an exit")
    func exit() throws {
        try withCopy { _, _, agent in
            agent.signal(SIGUSR2)
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }
}
