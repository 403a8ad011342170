import DefaultsCore
import Glibc
import TestSupport
import Testing

@testable import DefaultsKit

/// An agent that is silent is given up when it is stopped, and waited for when it has much to do.
@Suite("Patience with an agent")
struct AgentPatienceTests {
    @Test("One that runs is waited for beyond the patience with one that is stopped")
    func busy() throws {
        try withSlowAgent(silentFor: 300) { address, directory, _ in
            let patience = AgentPatience(stopped: 20, busy: 60_000)
            let agent = try #require(try AgentConnection.open(address, for: directory, patience: patience))
            #expect(agent.welcome.directory == directory.path)
        }
    }

    @Test("One that runs is given up in the end, and is not called stopped")
    func stuck() throws {
        try withSlowAgent(silentFor: -1) { address, directory, _ in
            let error = #expect(throws: DefaultsError.self) {
                try AgentConnection.open(address, for: directory, patience: AgentPatience(stopped: 20, busy: 200))
            }
            #expect(error?.isOfSilence == true)
            #expect(
                error?.description.contains("hasn't answered for 0.2 s; it has much to do, or is stuck: `kill -KILL")
                    == true)
        }
    }

    @Test("An edit that isn't answered is said to have been sent")
    func edit() throws {
        try withSlowAgent(silentFor: 0) { address, directory, _ in
            let agent = try #require(try AgentConnection.open(address, for: directory, patience: AgentPatience(500)))
            let error = #expect(throws: DefaultsError.self) {
                try agent.edit(Domain(DomainName("a.b")), ["size": .some(12)], replacesAll: false)
            }
            let remedy = "The edit was sent and may have been made: read before you try again."
            #expect(error?.description.hasSuffix(remedy) == true)
        }
    }
}
