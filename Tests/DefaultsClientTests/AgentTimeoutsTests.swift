import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsClient

/// The timeouts for an unresponsive agent: a short one if it is stopped, a long one if it is busy.
@Suite("Agent timeouts")
struct AgentTimeoutsTests {
    @Test("A client waits longer for a running agent than the timeout for a stopped agent")
    func busy() throws {
        try withSlowAgent(silentFor: 300) { address, directory, _ in
            let timeouts = AgentTimeouts(stopped: 20, busy: 60_000)
            let agent = try #require(try AgentConnection.open(address, for: directory, timeouts: timeouts))
            #expect(agent.welcome.directory == directory.path)
        }
    }

    @Test("A client gives up on a hung agent after the timeout without calling it stopped")
    func stuck() throws {
        try withSlowAgent(silentFor: -1) { address, directory, _ in
            let error = #expect(throws: DefaultsError.self) {
                try AgentConnection.open(address, for: directory, timeouts: AgentTimeouts(stopped: 20, busy: 200))
            }
            #expect(error?.isTimeout == true)
            let remedy = "has not responded for 0.2 s. It is busy or hung. To continue without it, run `kill -KILL"
            #expect(error?.description.contains(remedy) == true)
        }
    }

    @Test("The error for an unanswered edit says that the edit was sent")
    func edit() throws {
        try withSlowAgent(silentFor: 0) { address, directory, _ in
            let agent = try #require(try AgentConnection.open(address, for: directory, timeouts: AgentTimeouts(500)))
            let error = #expect(throws: DefaultsError.self) {
                try agent.edit(Domain(DomainName("a.b")), with: ["size": .some(12)], replacesAll: false)
            }
            #expect(error?.what.hasSuffix(" The edit was sent and may have been made.") == true)
            #expect(error?.remedy?.hasSuffix("Read the value before you try again.") == true)
        }
    }
}
