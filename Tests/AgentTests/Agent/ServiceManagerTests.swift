import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("Notifications of the service manager")
struct ServiceManagerTests {
    @Test(
        "An agent that ends or restarts while the service manager's queue is full reports that once there is room",
        arguments: [(SIGTERM, ["READY=1", "STOPPING=1"]), (SIGUSR2, ["READY=1", "RELOADING=1", "READY=1"])])
    func end(signal: Int32, states: [String]) throws {
        try AgentProcess.withPlace { place in
            let ready = try ReadySocket()
            let agent = try RunningProgram(
                Programs.defaultsd, [], environment: place.environment.merging(["NOTIFY_SOCKET": ready.name]) { $1 })
            try #require(eventually(within: 30) { ready.hasCome() })
            let directory = PreferencesDirectory(path: place.preferences)
            // An edit that can't be saved keeps the agent from ending.
            let lock = try DirectoryLock(directory, timeout: 1_000)
            let address = try AgentAddress(option: place.socket, for: directory, environment: Environment([:]))
            let connection = try #require(try AgentConnection.open(address, for: directory))
            try connection.edit(Domain(try DomainName("a.b")), with: ["key": 1], replacesAll: false)
            ready.fillQueue()
            agent.signal(signal)
            // The notification precedes the end of the server.
            try #require(eventually { access(place.socket, F_OK) != 0 })
            try #require(agent.isRunning)
            let first = Array(states.prefix(2))
            #expect(eventually { ready.states().count >= first.count })
            #expect(ready.states() == first)
            let isUnlocked = lock.unlock()
            #expect(isUnlocked)
            #expect(eventually { ready.states().count >= states.count })
            #expect(ready.states() == states)
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }

    @Test("An agent that ends doesn't wait for a service manager whose queue stays full")
    func noWait() throws {
        try AgentProcess.withPlace { place in
            let ready = try ReadySocket()
            let agent = try RunningProgram(
                Programs.defaultsd, [], environment: place.environment.merging(["NOTIFY_SOCKET": ready.name]) { $1 })
            try #require(eventually(within: 30) { ready.hasCome() })
            ready.fillQueue()
            agent.signal(SIGTERM)
            #expect(agent.status(within: 30) == 0)
        }
    }

    @Test(
        "An agent that has no file descriptor for a notification sends it later", .enabled(if: Injection.isPossible))
    func noDescriptor() throws {
        let number = try AgentProcess.withPlace { place in
            let trace = place.root + "/trace"
            try withTracedAgent(place, trace) { ready in #expect(eventually(within: 30) { ready.hasCome() }) }
            let calls = Injection.calls(in: String(decoding: try RawFile.read(trace), as: UTF8.self))
            return try #require(calls.first { $0.line.contains("SOCK_DGRAM") }).number
        }
        try AgentProcess.withPlace { place in
            let trace = place.root + "/trace"
            try withTracedAgent(place, trace, "socket:error=EMFILE:when=\(number)") { ready in
                #expect(eventually(within: 30) { ready.hasCome() })
            }
            let lines = String(decoding: try RawFile.read(trace), as: UTF8.self).split(separator: "\n")
            #expect(lines.contains { $0.contains("SOCK_DGRAM") && $0.contains("(INJECTED)") }, "\(lines)")
        }
    }

    /// Runs a body with an agent whose calls of `socket` are recorded, and ends both.
    private func withTracedAgent(
        _ place: AgentProcess.Place, _ trace: String, _ injection: String? = nil, _ body: (ReadySocket) -> Void
    ) throws {
        let ready = try ReadySocket()
        // With -D, the agent is the child, and strace is its grandchild.
        let agent = try RunningProgram(
            "/usr/bin/strace",
            ["-D", "-f", "-o", trace, "-e", "trace=socket"] + (injection.map { ["-e", "inject=\($0)"] } ?? [])
                + [Programs.defaultsd],
            environment: place.environment.merging(["NOTIFY_SOCKET": ready.name]) { $1 })
        body(ready)
        agent.signal(SIGTERM)
        #expect(agent.status() == 0)
        let hasEnded = try eventually {
            String(decoding: try RawFile.read(trace), as: UTF8.self).split(separator: "\n").contains {
                $0.hasPrefix("\(agent.pid) ") && $0.hasSuffix("+++ exited with 0 +++")
            }
        }
        #expect(hasEnded)
    }
}
