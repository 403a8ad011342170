import Glibc
import Linux

/// A recursive, fair lock for read-modify-write operations, which threads acquire in the order of their requests.
///
/// The holder may call any code. The library never acquires this lock while holding another of its locks. A fork
/// doesn't wait for the lock: in the child, it is free unless the forking thread holds it.
package final class ModificationLock: Sendable {
    private struct State: Sendable {
        var owner: pthread_t?
        /// The number of times that the owner has acquired the lock.
        var depth = 0
        var waiting: [(thread: pthread_t, latch: Latch)] = []
    }

    private let state = ForkSafeMutex(State())

    /// Runs a closure while holding the lock, after waiting for any other holder.
    package func withLock<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Acquires the lock, after waiting for any other holder.
    package func lock() {
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

    /// Releases the lock; call it once for each `lock()`, on the same thread.
    package func unlock() {
        let next = state.withLock { state -> Latch? in
            state.depth -= 1
            guard state.depth == 0 else { return nil }
            state.owner = nil
            guard !state.waiting.isEmpty else { return nil }
            // Pass the lock on directly: otherwise, a thread that locks in a loop would always beat the waiting
            // threads.
            let next = state.waiting.removeFirst()
            (state.owner, state.depth) = (next.thread, 1)
            return next.latch
        }
        next?.open()
    }

    /// Discards the parent's threads in a forked child.
    package func startOver() {
        let thread = pthread_self()
        state.withLock { state in
            state.waiting = []
            if state.owner != thread { (state.owner, state.depth) = (nil, 0) }
        }
    }
}
