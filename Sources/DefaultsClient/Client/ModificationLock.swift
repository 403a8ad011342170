import Glibc
import Linux

/// The recursive, fair lock for read-modify-write operations, which threads acquire in the order of their requests.
///
/// All clients share one lock. With a lock for each, a thread that changes a value of one client within a change to a
/// value of another could wait forever for a thread that does the reverse. While a client saves a change, which may
/// take long, the lock is free for changes to the other clients' values. In-place changes to the same client's values
/// wait only briefly.
///
/// The holder may call any code. The library never acquires this lock while holding another of its locks. A fork
/// doesn't wait for the lock: in the child, it is free unless the forking thread holds it.
package final class ModificationLock: Sendable {
    package static let shared = ModificationLock()

    struct State: Sendable {
        var owner: pthread_t?
        /// The number of times that the owner has acquired the lock.
        var depth = 0
        /// The clients that are saving changes, and whether other changes to their values may overtake these.
        var saving: [ObjectIdentifier: Bool] = [:]
        /// The threads that wait.
        var waiting: [(thread: pthread_t, client: ObjectIdentifier, isOvertaking: Bool, latch: Latch)] = []

        func isFree(for thread: pthread_t, _ client: ObjectIdentifier, isOvertaking: Bool = false) -> Bool {
            (owner == nil || owner == thread) && saving[client].map { $0 && (isOvertaking || owner == thread) } ?? true
        }

        /// Passes the lock to the first thread that may have it, whose latch the caller opens.
        ///
        /// Otherwise, a thread that locks in a loop would always beat the waiting threads.
        mutating func passOn() -> Latch? {
            guard
                let index = waiting.firstIndex(where: {
                    isFree(for: $0.thread, $0.client, isOvertaking: $0.isOvertaking)
                })
            else { return nil }
            let next = waiting.remove(at: index)
            owner = next.thread
            depth += 1
            return next.latch
        }

        mutating func release() -> Latch? {
            depth -= 1
            if depth == 0 { owner = nil }
            return passOn()
        }
    }

    let state = ForkSafeMutex(State())

    package init() {}

    /// Acquires the lock for a change to a client's values, after waiting for any other holder.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - milliseconds: The time after which the change no longer waits until the client has saved another one, if
    ///     that may be overtaken; `nil` for no limit.
    /// - Returns: Whether the client is still saving a change.
    @discardableResult
    package func lock(for client: AnyObject, overtakingAfter milliseconds: Int? = nil) -> Bool {
        let (thread, client) = (pthread_self(), ObjectIdentifier(client))
        let latch = state.withLock { state -> Latch? in
            guard state.isFree(for: thread, client) else {
                let latch = Latch()
                state.waiting.append((thread, client, false, latch))
                return latch
            }
            state.owner = thread
            state.depth += 1
            return nil
        }
        guard let latch else { return false }
        if let milliseconds, !latch.wait(milliseconds: milliseconds) {
            let next = state.withLock { state -> Latch? in
                guard let index = state.waiting.firstIndex(where: { $0.latch === latch }) else { return nil }
                state.waiting[index].isOvertaking = true
                return state.passOn()
            }
            next?.open()
            _ = latch.wait()
        } else if milliseconds == nil {
            _ = latch.wait()
        }
        return state.withLock { $0.saving[client] != nil }
    }

    /// Releases the lock; call it once for each `lock(for:)`, on the same thread.
    package func unlock() {
        state.withLock { $0.release() }?.open()
    }

    /// Saves a change to a client's values, and then releases the lock.
    ///
    /// Changes to other clients' values may begin in the meantime, unless the thread is within another change.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - isOvertakable: Whether the change can be made again after one that began while it was being saved.
    ///   - save: A closure that saves the change.
    /// - Throws: The closure's error.
    package func unlock<Failure>(
        for client: AnyObject, isOvertakable: Bool = false, after save: () throws(Failure) -> Void
    ) throws(Failure) {
        let client = ObjectIdentifier(client)
        let (isOutermost, next) = state.withLock { state -> (Bool, Latch?) in
            guard state.depth == 1 else { return (false, nil) }
            state.saving[client] = isOvertakable
            return (true, state.release())
        }
        next?.open()
        defer {
            let next = state.withLock { state in
                guard isOutermost else { return state.release() }
                state.saving[client] = nil
                return state.passOn()
            }
            next?.open()
        }
        try save()
    }

    /// Discards the parent's threads in a forked child.
    package func startOver() {
        let thread = pthread_self()
        state.withLock { state in
            state.waiting = []
            state.saving = [:]
            if state.owner != thread { (state.owner, state.depth) = (nil, 0) }
        }
    }
}
