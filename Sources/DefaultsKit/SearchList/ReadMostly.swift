import CLinux
import Glibc
import Linux
import Synchronization

/// A value that any number of threads read at once without waiting for one another, and that is changed now and then.
///
/// A mutex would do, but where more threads read than there are cores, one that loses its core while it holds the mutex
/// has all others sleep and wake: 100 µs a read. Here a reader counts itself in and out, on a cache line that it shares
/// with few other threads; only a change keeps readers out, once those are gone that have come before. Neither closure may use
/// the same value again. A forked child counts anew, without the parent's other readers.
///
/// It is unchecked `Sendable` as `readers` and `isChanging` guard `value`, which the compiler can't see.
final class ReadMostly<Value: ~Copyable & Sendable>: @unchecked Sendable {
    /// The readers that are in, of some threads; as large as a cache line.
    private struct Readers: ~Copyable {
        let count = Atomic(0)
        private let rest = (0, 0, 0, 0, 0, 0, 0)
    }

    /// A power of two.
    private static var stripes: Int { 16 }

    private let value: UnsafeMutablePointer<Value>
    private let readers: UnsafeMutablePointer<Readers>
    private let isChanging = Atomic(false)
    private let turn = ForkSafeMutex(())

    init(_ value: consuming Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
        let room = linux_allocate_zeroed_in_child(Self.stripes * MemoryLayout<Readers>.stride)
        readers = room.bindMemory(to: Readers.self, capacity: Self.stripes)
        for stripe in 0..<Self.stripes { (readers + stripe).initialize(to: Readers()) }
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        readers.deinitialize(count: Self.stripes)
        linux_free_zeroed_in_child(readers)
    }

    /// Reads the value.
    @inline(__always)
    func read<Result>(_ body: (borrowing Value) -> Result) -> Result {
        // Threads' blocks lie some pages apart.
        let thread = UInt(pthread_self()) >> 12
        let stripe = readers + Int((thread ^ thread >> 7) & UInt(Self.stripes - 1))
        // Either this thread sees that a change is about to come, or who changes sees this thread: both sides say first what
        // they do, and then look, in one order for all.
        stripe.pointee.count.wrappingAdd(1, ordering: .sequentiallyConsistent)
        while isChanging.load(ordering: .sequentiallyConsistent) {
            stripe.pointee.count.wrappingSubtract(1, ordering: .releasing)
            turn.withLock { _ in }
            stripe.pointee.count.wrappingAdd(1, ordering: .sequentiallyConsistent)
        }
        defer { stripe.pointee.count.wrappingSubtract(1, ordering: .releasing) }
        return body(value.pointee)
    }

    /// Changes the value, while nobody reads it.
    func change<Result>(_ body: (inout Value) -> Result) -> Result {
        turn.withLock { _ in
            isChanging.store(true, ordering: .sequentiallyConsistent)
            for stripe in 0..<Self.stripes {
                var looks = 0
                while (readers + stripe).pointee.count.load(ordering: .sequentiallyConsistent) != 0 {
                    // A reader that has lost its core must get one.
                    looks += 1
                    if looks > 100 { usleep(50) } else if looks > 10 { sched_yield() }
                }
            }
            defer { isChanging.store(false, ordering: .releasing) }
            return body(&value.pointee)
        }
    }
}
