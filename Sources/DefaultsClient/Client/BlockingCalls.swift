import DefaultsCore
import Linux

/// A queue of blocking calls made on behalf of tasks, run one at a time on a thread that ends when the queue is empty.
///
/// The calls of one client save one after the other anyway, so with more threads, more threads would wait.
package final class BlockingCalls: Sendable {
    private struct State {
        /// The calls to make; each is told whether there is a thread for it.
        var waiting: [@Sendable (Bool) -> Void] = []
        var hasThread = false
    }

    /// The state; nothing is called under the lock.
    private let state = ForkSafeMutex(State())

    /// The number of calls that wait.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Makes a call on the thread, and suspends the task until it has returned.
    ///
    /// If the task is canceled, the call is made nevertheless.
    func result<Value: Sendable>(
        of call: @escaping @Sendable () -> Result<Value, DefaultsError>
    ) async -> Result<Value, DefaultsError> {
        await withCheckedContinuation { continuation in
            add { hasThread in continuation.resume(returning: hasThread ? call() : .failure(Client.noThread)) }
        }
    }

    /// Makes a call that may throw, whose problems are reported to the task's handler.
    ///
    /// - Throws: The call's error, or a `DefaultsError` if no thread can be started.
    package func make<Value: Sendable>(_ call: @escaping @Sendable () throws -> Value) async throws -> Value {
        let scoped = ProblemHandler.scoped
        return try await result {
            .success(Result { try ProblemHandler.$scoped.withValue(scoped, operation: call) })
        }.get().get()
    }

    private func add(_ call: @escaping @Sendable (Bool) -> Void) {
        let mustStart = state.withLock { state in
            state.waiting.append(call)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        guard mustStart, !DetachedThread.start({ [self] in makeAll(hasThread: true) }) else { return }
        makeAll(hasThread: false)
    }

    private func makeAll(hasThread: Bool) {
        while let calls = dequeue() { for call in calls { call(hasThread) } }
    }

    /// Removes and returns the waiting calls; if there are none, the thread ends.
    private func dequeue() -> [@Sendable (Bool) -> Void]? {
        state.withLock { state in
            defer { state.waiting = [] }
            state.hasThread = !state.waiting.isEmpty
            return state.hasThread ? state.waiting : nil
        }
    }

    /// Discards the parent's calls in a forked child.
    func startOver() { state.withLock { $0 = State() } }
}
