#if Configuration
import Dispatch
import Testing

@testable import DefaultsConfiguration

@Suite("A wait for fresh preferences")
struct RefreshTests {
    @Test("Ends at once for a task that is cancelled, though preferences never become fresh", .timeLimit(.minutes(1)))
    func cancellation() async {
        let never = DispatchSemaphore(value: 0)
        defer { never.signal() }
        let refresh = Refresh { never.wait() }
        // One that waits already, and one that is cancelled before.
        let first = Task { try await refresh() }
        let second = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await refresh()
        }
        await #expect(throws: CancellationError.self) { try await second.value }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    @Test("Ends when what was asked for is done")
    func end() async throws {
        let refresh = Refresh {}
        for _ in 0..<100 { try await refresh() }
    }
}
#endif
