import Linux
import Observation

/// A stand-in for one key of a search list in Observation: reading the key counts as an access to this object, and a
/// change to the key as a mutation.
///
/// `withObservationTracking` registers its observer only after its body has run. A change by another thread between the
/// read and the registration would go unnoticed, and leave the observer with an old value. So a change to a key that
/// was just read is reported again a moment later. An observer that received the first report may then read the same
/// value twice.
package final class TrackedKey: Observable, Sendable {
    private struct State {
        var lastAccess: MonotonicTime?
        /// The time of the second report; `nil` if none is scheduled.
        var due: MonotonicTime?
    }

    private let registrar = ObservationRegistrar()
    /// The state; nothing is called under the lock.
    private let state = ForkSafeMutex(State())
    private var value: Void { () }

    /// The maximum expected time between the read and the registration, in milliseconds.
    private static let settling: Int64 = 100

    package init() {}

    /// Records a read of the key.
    package func access() {
        state.withLock { $0.lastAccess = .now() }
        registrar.access(self, keyPath: \.value)
    }

    /// Reports a change to the key, in a task of its own.
    ///
    /// Observers may run any code, which may even wait for the thread that found the change.
    package func notify() {
        Task { await change() }
    }

    /// Reports the change, and reports it again if the key was just read.
    ///
    /// The value has already changed, so an observer finds the new value even if it reads the key on being notified
    /// that the value will change.
    private func change() async {
        let mustWait = state.withLock { state in
            let now = MonotonicTime.now()
            guard let lastAccess = state.lastAccess, now < lastAccess + Self.settling else { return false }
            defer { state.due = now + Self.settling }
            return state.due == nil
        }
        notifyOnce()
        guard mustWait else { return }
        while let left = dequeueWait() { try? await Task.sleep(for: .milliseconds(left)) }
        notifyOnce()
    }

    private func notifyOnce() { registrar.withMutation(of: self, keyPath: \.value) {} }

    /// Returns the time until the second report, in milliseconds; `nil` when it is due.
    private func dequeueWait() -> Int32? {
        state.withLock { state in
            if let left = state.due?.millisecondsLeft, left > 0 { return left }
            state.due = nil
            return nil
        }
    }
}
