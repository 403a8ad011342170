import CFork
import Glibc
import Linux
import Synchronization

/// A rarely changing value that any number of threads can read concurrently without waiting for each other.
///
/// A mutex would be correct but slow. With more reading threads than cores, a thread that is preempted while it holds
/// the mutex makes all others sleep and wake up. This was measured at 100 µs per read. Here each reader increments and
/// decrements a count on a cache line that it shares with few other threads. Only a change blocks readers, after
/// waiting for the current ones.
///
/// The closures passed to `read` and `change` must not use the same instance. In a forked child, the counts start at
/// zero, without the parent's other readers.
///
/// The type is unchecked `Sendable` because the compiler can't see that `readers` and `isChanging` guard `value`.
final class ReadMostly<Value: ~Copyable & Sendable>: @unchecked Sendable {
    /// The number of current readers among a subset of the threads, padded to the size of a cache line.
    private struct Readers: ~Copyable {
        let count = Atomic(0)
        private let rest = (0, 0, 0, 0, 0, 0, 0)
    }

    /// The number of counts, a power of two.
    private static var stripes: Int { 16 }

    private let value: UnsafeMutablePointer<Value>
    private let readers: UnsafeMutablePointer<Readers>
    private let isChanging = Atomic(false)
    private let turn = ForkSafeMutex(())

    init(_ value: consuming Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
        let room = fork_allocate_zeroed_in_child(Self.stripes * MemoryLayout<Readers>.stride)
        readers = room.bindMemory(to: Readers.self, capacity: Self.stripes)
        for stripe in 0..<Self.stripes { (readers + stripe).initialize(to: Readers()) }
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        readers.deinitialize(count: Self.stripes)
        fork_free_zeroed_in_child(readers)
    }

    /// Reads the value.
    @inline(__always)
    func read<Result>(_ body: (borrowing Value) -> Result) -> Result {
        // Threads' control blocks are pages apart, so the low 12 bits hardly differ.
        let thread = UInt(pthread_self()) >> 12
        let stripe = readers + Int((thread ^ thread >> 7) & UInt(Self.stripes - 1))
        // Both sides first store, then load, in one sequentially consistent order. So either this thread sees the
        // change that is about to begin, or the changing thread sees this reader.
        stripe.pointee.count.wrappingAdd(1, ordering: .sequentiallyConsistent)
        while isChanging.load(ordering: .sequentiallyConsistent) {
            stripe.pointee.count.wrappingSubtract(1, ordering: .releasing)
            turn.withLock { _ in }
            stripe.pointee.count.wrappingAdd(1, ordering: .sequentiallyConsistent)
        }
        defer { stripe.pointee.count.wrappingSubtract(1, ordering: .releasing) }
        return body(value.pointee)
    }

    /// Changes the value while no thread reads it.
    func change<Result>(_ body: (inout Value) -> Result) -> Result {
        turn.withLock { _ in
            isChanging.store(true, ordering: .sequentiallyConsistent)
            for stripe in 0..<Self.stripes {
                var polls = 0
                while (readers + stripe).pointee.count.load(ordering: .sequentiallyConsistent) != 0 {
                    // A preempted reader needs a core to finish.
                    polls += 1
                    if polls > 100 { usleep(50) } else if polls > 10 { sched_yield() }
                }
            }
            defer { isChanging.store(false, ordering: .releasing) }
            return body(&value.pointee)
        }
    }
}
