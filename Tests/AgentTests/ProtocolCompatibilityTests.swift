import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The promise of the page *Compatibility* that every later agent understands today's clients.
///
/// If this test fails, don't change the fixture: apps that are in use send exactly these bytes.
@Suite("Clients of version 0.2.0")
struct ProtocolCompatibilityTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    @Test(
        "The agent answers the bytes of protocol 1 as version 0.2.0 did", .enabled(if: ForeignProcess.hasPython))
    func protocol1() throws {
        try AgentProcess.withAgent { agent in
            let outcome = try Programs.run(
                "/usr/bin/env",
                [
                    "python3", Self.fixtures.appendingPathComponent("protocol1.py").path, agent.place.socket,
                    Self.fixtures.appendingPathComponent("protocol1.json").path,
                ])
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }
}
