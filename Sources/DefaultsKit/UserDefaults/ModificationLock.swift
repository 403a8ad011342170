import Glibc

/// A lock for changing values by what they are, which the thread that holds it may take again.
///
/// Whoever holds it may call anything, other than under the library's other locks. A fork doesn't wait for it: in the child it
/// is free, unless the thread that forked holds it.
final class ModificationLock: Sendable {
    private struct State: Sendable {
        var owner: pthread_t?
        /// The times that the owner has taken it and not given it back.
        var depth = 0
        var waiting: [Latch] = []
    }

    private let state = ForkSafeMutex(State())

    /// Takes the lock, after waiting for the thread that holds it.
    func lock() {
        while let latch = take() { _ = latch.wait() }
    }

    /// Gives the lock back; to be called once for each `lock`, by the same thread.
    func unlock() {
        let next = state.withLock { state -> Latch? in
            state.depth -= 1
            guard state.depth == 0 else { return nil }
            state.owner = nil
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.open()
    }

    /// - Returns: `nil` if the lock is the caller's, else what to wait for before the next attempt.
    private func take() -> Latch? {
        let thread = pthread_self()
        return state.withLock { state in
            guard state.owner == nil || state.owner == thread else {
                let latch = Latch()
                state.waiting.append(latch)
                return latch
            }
            state.owner = thread
            state.depth += 1
            return nil
        }
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
