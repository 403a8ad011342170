import CFork
import DefaultsCore
import Glibc
import Linux
import Synchronization

/// The requests to a `ClientThread`, and the means to wake it.
final class ClientRequests: Sendable {
    /// The requests since the last dequeue.
    struct Batch {
        var barriers: [Barrier] = []
        /// The latches of callers that wait for a reload of the files.
        var reloads: [Latch] = []
        var commits: [Commit] = []
        var mustEnd = false

        var isEmpty: Bool { barriers.isEmpty && reloads.isEmpty && commits.isEmpty && !mustEnd }
    }

    private let batch = ForkSafeMutex(Batch())
    /// Whether the thread has been woken and hasn't dequeued yet: one wake-up stands for many requests.
    private let isAwake = Atomic(false)
    private let eventfd = Atomic<Int32>(-1)

    /// The eventfd; -1 before the thread starts, and if none could be created.
    ///
    /// Without one, the thread polls every few milliseconds.
    var descriptor: Int32 { eventfd.load(ordering: .relaxed) }

    deinit {
        fork_keep_in_child(descriptor)
        close(descriptor)
    }

    /// Creates the eventfd before the thread starts.
    ///
    /// It isn't created earlier, because a process that becomes a daemon first closes all descriptors.
    func open() {
        guard descriptor < 0 else { return }
        let new = EventDescriptor.open()
        fork_close_in_child(new)
        eventfd.store(new, ordering: .relaxed)
    }

    /// Drops the requests of the parent's threads in a forked child, where the eventfd is already closed.
    func startOver() {
        eventfd.store(-1, ordering: .relaxed)
        isAwake.store(false, ordering: .relaxed)
        let dropped = dequeue()
        for barrier in dropped.barriers + dropped.commits.map(\.barrier) { barrier.abandon() }
        for latch in dropped.reloads { latch.abandon() }
    }

    /// Whether there are no requests, and the thread hasn't been woken.
    var isEmpty: Bool { !isAwake.load(ordering: .acquiring) && batch.withLock { $0.isEmpty } }

    /// Wakes the thread.
    func wake() {
        guard !isAwake.exchange(true, ordering: .acquiringAndReleasing) else { return }
        EventDescriptor.signal(descriptor)
    }

    /// Adds requests, and wakes the thread.
    func ask(_ body: (inout Batch) -> Void) {
        batch.withLock { body(&$0) }
        wake()
    }

    /// Removes and returns the requests; called only by the thread.
    func dequeue() -> Batch {
        // The order matters. A caller that wakes the thread after the exchange writes to the eventfd again, and an
        // earlier caller's request is in the batch below. In the opposite order, a wake-up between the two steps would
        // be consumed while the flag stays set, and all later wake-ups would be skipped.
        EventDescriptor.reset(descriptor)
        _ = isAwake.exchange(false, ordering: .acquiringAndReleasing)
        return batch.withLock { requests in
            defer { requests = Batch() }
            return requests
        }
    }
}
