#if Configuration
import DefaultsKit
import Dispatch
import Linux

/// An asynchronous wait until the preferences are fresh: until everything that happened before the wait is visible.
///
/// `synchronize` blocks its thread, so it runs on a dispatch queue, never on a thread that runs tasks. All callers that
/// arrive during a wait share the next wait. A canceled caller stops waiting; the shared wait continues.
final class Refresh: Sendable {
    private typealias Waiting = [UInt64: CheckedContinuation<Void, any Error>]

    private struct State {
        /// The tasks that wait for the next round to begin and, in `present`, for the current round to end.
        var next: Waiting = [:]
        var present: Waiting = [:]
        var lastNumber: UInt64 = 0

        mutating func remove(_ number: UInt64) -> CheckedContinuation<Void, any Error>? {
            next.removeValue(forKey: number) ?? present.removeValue(forKey: number)
        }
    }

    private let synchronize: @Sendable () -> Void
    private let queue = DispatchQueue(label: "DefaultsConfiguration.Refresh")
    /// No code outside this class is called while its lock is held.
    private let state = ForkSafeMutex(State())

    convenience init(_ defaults: UserDefaults) {
        self.init { defaults.synchronize() }
    }

    /// Creates a refresh with a custom function that waits.
    init(_ synchronize: @escaping @Sendable () -> Void) {
        self.synchronize = synchronize
    }

    /// Suspends until everything that happened before the call is visible.
    ///
    /// - Throws: `CancellationError` if the task is canceled.
    func callAsFunction() async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isFirst = state.withLock { state in
                    state.next[number] = continuation
                    return state.next.count == 1
                }
                if isFirst { queue.async { self.run() } }
                // If the task was canceled earlier, the cancellation handler found no continuation to resume.
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func cancel(_ number: UInt64) {
        state.withLock { $0.remove(number) }?.resume(throwing: CancellationError())
    }

    /// Runs a round for all callers so far; the next caller starts the next round.
    private func run() {
        state.withLock { state in
            state.present = state.next
            state.next = [:]
        }
        synchronize()
        let served = state.withLock { state in
            defer { state.present = [:] }
            return Array(state.present.values)
        }
        for continuation in served { continuation.resume() }
    }
}
#endif
