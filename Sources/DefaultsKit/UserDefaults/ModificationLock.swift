import Glibc
import Linux

/// A recursive lock for read-modify-write operations, which serves threads in the order of their coming.
///
/// Its holder may call anything; it isn't taken under the library's other locks. A fork doesn't wait for it: in the child it is
/// free unless the forking thread held it.
final class ModificationLock: Sendable {
    private struct State: Sendable {
        var owner: pthread_t?
        /// The times that the owner holds it.
        var depth = 0
        var waiting: [(thread: pthread_t, latch: Latch)] = []
    }

    private let state = ForkSafeMutex(State())

    /// Runs a body with the lock, after waiting for the thread that holds it.
    func withLock<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Takes the lock, after waiting for the thread that holds it.
    func lock() {
        let thread = pthread_self()
        let latch = state.withLock { state -> Latch? in
            guard state.owner == nil || state.owner == thread else {
                let latch = Latch()
                state.waiting.append((thread, latch))
                return latch
            }
            state.owner = thread
            state.depth += 1
            return nil
        }
        _ = latch?.wait()
    }

    /// Releases the lock; call it once for each `lock`, on the same thread.
    func unlock() {
        let next = state.withLock { state -> Latch? in
            state.depth -= 1
            guard state.depth == 0 else { return nil }
            state.owner = nil
            guard !state.waiting.isEmpty else { return nil }
            // Handed over: a thread that takes it again and again would else be faster than any that waits.
            let next = state.waiting.removeFirst()
            (state.owner, state.depth) = (next.thread, 1)
            return next.latch
        }
        next?.open()
    }

    /// Forgets the parent's threads in a forked child.
    func startOver() {
        let thread = pthread_self()
        state.withLock { state in
            state.waiting = []
            if state.owner != thread { (state.owner, state.depth) = (nil, 0) }
        }
    }
}
