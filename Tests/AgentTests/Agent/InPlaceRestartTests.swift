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
        _ body: (_ place: AgentProcess.Place, _ program: String, _ agent: RunningProgram, _ ready: ReadySocket) throws
            -> Void
    ) throws {
        try AgentProcess.withPlace { place in
            let program = place.root + "/defaultsd"
            try Programs.shell("cp \(Programs.defaultsd) \(program)", in: place.root)
            let ready = try ReadySocket()
            let agent = try RunningProgram(
                program, [], environment: place.environment.merging(["NOTIFY_SOCKET": ready.name]) { $1 })
            try #require(eventually { ready.hasCome() })
            try body(place, program, agent, ready)
        }
    }

    private func executable(of agent: RunningProgram) -> String {
        String(decoding: SystemCall.target(ofLink: "/proc/\(agent.pid)/exe") ?? [], as: UTF8.self)
    }

    @Test("The process continues as the installed program, and a follower misses nothing")
    func follower() throws {
        try withCopy { place, program, agent, _ in
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
        try withCopy { place, program, agent, _ in
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

    @Test("If the installed program can't run, the old version starts again, and says so")
    func broken() throws {
        try withCopy { place, program, agent, ready in
            try Programs.run(Programs.defaults, ["write", "a.b", "key", "value"], environment: place.environment)
            try Programs.shell("echo broken >new; chmod +x new; mv new \(program)", in: place.root)
            agent.signal(SIGUSR2)
            try #require(eventually { ready.hasCome(times: 2) })
            let read = try Programs.run(
                Programs.defaults, ["read", "a.b", "key"], environment: place.environment)
            #expect(read.output == "value\n", "\(read)")
            #expect(agent.isRunning)
            #expect(agent.complaints().contains("The program \(program) can't be started: Exec format error."))
        }
    }

    @Test("Restarts leave no files open")
    func descriptors() throws {
        try withCopy { place, _, agent, ready in
            func files() -> Int { namesOfFiles(in: "/proc/\(agent.pid)/fd").count }
            let before = files()
            for number in 1...5 {
                let tail = try RunningProgram(
                    Programs.defaults, ["tail", "--json", "a.b"], environment: place.environment)
                _ = try tail.objects(upTo: "ready")
                agent.signal(SIGUSR2)
                try #require(eventually { ready.hasCome(times: number + 1) })
                tail.signal(SIGKILL)
            }
            #expect(eventually { files() <= before }, "\(files()) instead of \(before)")
        }
    }

    @Test("SIGTERM turns a restart that has begun into an exit")
    func exit() throws {
        try withCopy { _, _, agent, _ in
            agent.signal(SIGUSR2)
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }
}
