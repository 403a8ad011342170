import Linux
import Observation

/// What stands for one key of a search list with Observation: who reads the key reads this, and a change of the key is a
/// change of this.
///
/// `withObservationTracking` registers who is told only after its body has run: a change by another thread between the
/// reading and that would be told to nobody, and leave an old value. So a change of a key that was read a moment before is
/// told a second time a moment later. Who was told the first time, and reads again, may find the same value again.
final class TrackedKey: Observable, Sendable {
    private struct State {
        var lastAccess: MonotonicTime?
        /// When to tell a second time; `nil` when nobody waits for it.
        var due: MonotonicTime?
    }

    private let registrar = ObservationRegistrar()
    /// Nothing is called under its lock.
    private let state = ForkSafeMutex(State())
    private var value: Void { () }

    /// How long it may take from a reading until it is registered, in milliseconds.
    private static let settling: Int64 = 100

    /// Notes that the key is read.
    func access() {
        state.withLock { $0.lastAccess = .now() }
        registrar.access(self, keyPath: \.value)
    }

    /// Tells that the key has changed, on a task of its own: who is told may do anything, even wait for the thread that has
    /// found the change.
    func announce() {
        Task { await change() }
    }

    /// It has changed already: who reads it when told that it will finds the new value, and is not left with the old one.
    private func change() async {
        let mustWait = state.withLock { state in
            let now = MonotonicTime.now()
            guard let lastAccess = state.lastAccess, now < lastAccess + Self.settling else { return false }
            defer { state.due = now + Self.settling }
            return state.due == nil
        }
        tell()
        guard mustWait else { return }
        while let left = takeWait() { try? await Task.sleep(for: .milliseconds(left)) }
        tell()
    }

    private func tell() { registrar.withMutation(of: self, keyPath: \.value) {} }

    /// How long to wait until telling a second time, in milliseconds; `nil` when it is time.
    private func takeWait() -> Int32? {
        state.withLock { state in
            if let left = state.due?.left, left > 0 { return left }
            state.due = nil
            return nil
        }
    }
}
