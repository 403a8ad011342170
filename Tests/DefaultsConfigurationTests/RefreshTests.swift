#if Configuration
import Dispatch
import Testing

@testable import DefaultsConfiguration

@Suite("Waiting for fresh preferences")
struct RefreshTests {
    @Test("A canceled task stops waiting immediately, even if preferences never become fresh", .timeLimit(.minutes(1)))
    func cancellation() async {
        let never = DispatchSemaphore(value: 0)
        defer { never.signal() }
        let refresh = Refresh { never.wait() }
        // One task is already waiting, and the other is canceled before it waits.
        let first = Task { try await refresh() }
        let second = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await refresh()
        }
        await #expect(throws: CancellationError.self) { try await second.value }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    @Test("A wait ends when synchronizing is done")
    func end() async throws {
        let refresh = Refresh {}
        for _ in 0..<100 { try await refresh() }
    }
}
#endif
