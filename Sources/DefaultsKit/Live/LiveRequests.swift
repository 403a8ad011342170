import CLinux
import DefaultsCore
import Glibc
import Synchronization

/// What is asked of a `LiveThread`, and the means to wake it.
final class LiveRequests: Sendable {
    /// What was asked since it was last taken.
    struct Taken {
        var barriers: [Barrier] = []
        /// Who waits for a look at the files.
        var looks: [Latch] = []
        var mustEnd = false
    }

    private let taken = Mutex(Taken())
    /// Whether the thread has been woken and hasn't looked yet: one wake-up stands for many requests.
    private let isAwake = Atomic(false)
    /// An eventfd; -1 where none could be had, and then the thread looks every few milliseconds.
    let descriptor = linux_eventfd()

    deinit {
        if descriptor >= 0 { close(descriptor) }
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
