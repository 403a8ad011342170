import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The promise of the page *Compatibility* that every later agent understands today's clients.
///
/// If this test fails, don't change the fixtures: apps that are in use send exactly these bytes.
@Suite("Clients of each version of the protocol")
struct ProtocolCompatibilityTests {
    private static let fixtures = URL(fileURLWithPath: "\(Repository.path)/Tests/AgentTests/Fixtures")

    @Test(
        "The agent answers recorded bytes as it always has", .enabled(if: ForeignProcess.hasPython),
        arguments: ["protocol1.json", "protocol2.json"])
    func conversation(_ name: String) throws {
        try AgentProcess.withAgent { agent in
            let outcome = try Programs.run(
                "/usr/bin/env",
                [
                    "python3", Self.fixtures.appendingPathComponent("conversation.py").path, agent.place.socket,
                    Self.fixtures.appendingPathComponent(name).path,
                ])
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }
}
