import CLinux
import DefaultsCore
import Glibc
import Linux
import Synchronization

/// What is asked of a `LiveThread`, and the means to wake it.
final class LiveRequests: Sendable {
    /// What was asked since it was last taken.
    struct Taken {
        var barriers: [Barrier] = []
        /// Who waits for a look at the files.
        var looks: [Latch] = []
        var commits: [Commit] = []
        var mustEnd = false
    }

    private let taken = ForkSafeMutex(Taken())
    /// Whether the thread has been woken and hasn't looked yet: one wake-up stands for many requests.
    private let isAwake = Atomic(false)
    private let eventfd = Atomic<Int32>(-1)

    /// An eventfd; -1 until there is a thread, and where none could be had.
    ///
    /// Without one the thread looks every few milliseconds.
    var descriptor: Int32 { eventfd.load(ordering: .relaxed) }

    deinit {
        linux_keep_in_child(descriptor)
        close(descriptor)
    }

    /// Makes the eventfd before the thread starts.
    ///
    /// Not earlier, since a child that becomes a daemon first closes all descriptors.
    func open() {
        guard descriptor < 0 else { return }
        let new = linux_eventfd()
        linux_close_in_child(new)
        eventfd.store(new, ordering: .relaxed)
    }

    /// Drops the requests of the parent's threads in a forked child, where the eventfd is closed already.
    func startOver() {
        eventfd.store(-1, ordering: .relaxed)
        isAwake.store(false, ordering: .relaxed)
        let dropped = take()
        for barrier in dropped.barriers + dropped.commits.map(\.barrier) { barrier.finish() }
        for latch in dropped.looks { latch.open() }
    }

    /// Wakes the thread.
    func wake() {
        guard !isAwake.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Asks for something.
    func ask(_ body: (inout Taken) -> Void) {
        taken.withLock { body(&$0) }
        wake()
    }

    /// Takes what was asked; for the thread.
    func take() -> Taken {
        // In this order: who wakes it from here on writes again, and who did before is heard below. The other way round, a
        // wake-up between the two would be read away, and every later one be taken for told.
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
        _ = isAwake.exchange(false, ordering: .acquiringAndReleasing)
        return taken.withLock { requests in
            defer { requests = Taken() }
            return requests
        }
    }
}
