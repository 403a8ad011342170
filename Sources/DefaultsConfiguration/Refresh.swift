#if Configuration
import DefaultsKit
import Dispatch

/// Waits, for tasks, until preferences are fresh: everything that happened before is seen.
///
/// `synchronize` blocks its thread; here that is one of a queue's own, never one that tasks run on. All who ask while one
/// wait is under way share the next.
final class Refresh: Sendable {
    private let defaults: UserDefaults
    private let queue = DispatchQueue(label: "DefaultsConfiguration.Refresh")
    /// Who waits for the next wait to begin; nobody is called under its lock.
    private let waiting = ForkSafeMutex<[CheckedContinuation<Void, Never>]>([])

    init(_ defaults: UserDefaults) {
        self.defaults = defaults
    }

    /// Suspends until all that happened before the call is seen.
    func callAsFunction() async {
        await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                waiting.append(continuation)
                return waiting.count == 1
            }
            if isFirst { queue.async { self.run() } }
        }
    }

    /// Waits for those who have asked before; whoever asks from here on is the first of the next wait.
    private func run() {
        let served = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        defaults.synchronize()
        for continuation in served { continuation.resume() }
    }
}
#endif
