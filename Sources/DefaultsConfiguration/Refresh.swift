#if Configuration
import DefaultsKit
import Dispatch
import Linux

/// Waits, for tasks, until preferences are fresh: everything that happened before is seen.
///
/// `synchronize` blocks its thread; here that is one of a queue's own, never one that tasks run on. All who ask while one
/// wait is under way share the next. Who is cancelled waits no longer; the wait itself goes on.
final class Refresh: Sendable {
    private typealias Waiting = [UInt64: CheckedContinuation<Void, any Error>]

    private struct State {
        /// The tasks that wait for the next turn to begin, and for the present one to end.
        var next: Waiting = [:]
        var present: Waiting = [:]
        var lastNumber: UInt64 = 0

        mutating func remove(_ number: UInt64) -> CheckedContinuation<Void, any Error>? {
            next.removeValue(forKey: number) ?? present.removeValue(forKey: number)
        }
    }

    private let synchronize: @Sendable () -> Void
    private let queue = DispatchQueue(label: "DefaultsConfiguration.Refresh")
    /// Nobody is called under its lock.
    private let state = ForkSafeMutex(State())

    convenience init(_ defaults: UserDefaults) {
        self.init { defaults.synchronize() }
    }

    /// Makes one with another way to wait.
    init(_ synchronize: @escaping @Sendable () -> Void) {
        self.synchronize = synchronize
    }

    /// Suspends until all that happened before the call is seen.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before.
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
                // One that was cancelled before this has told nobody.
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func cancel(_ number: UInt64) {
        state.withLock { $0.remove(number) }?.resume(throwing: CancellationError())
    }

    /// Waits for those who have asked before; whoever asks from here on is the first of the next wait.
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
