import Linux
import Testing

@testable import DefaultsClient

@Suite("Attempts to reach the agent")
struct AgentAttemptsTests {
    private static let start = MonotonicTime(milliseconds: 1_000)

    @Test("A silent agent is reported once, and tried again after pauses that double")
    func silence() {
        var attempts = AgentAttempts()
        #expect(attempts.areDue(at: Self.start))
        var now = Self.start
        for pause in [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000] as [Int64] {
            #expect(attempts.recordSilence(at: now) == (now == Self.start))
            #expect(!attempts.areDue(at: now + (pause - 1)))
            now = now + pause
            #expect(attempts.areDue(at: now))
        }
        attempts.recordResponse()
        let isReportedAgain = attempts.recordSilence(at: now)
        #expect(isReportedAgain)
        #expect(attempts.areDue(at: now + 30_000))
    }
}
