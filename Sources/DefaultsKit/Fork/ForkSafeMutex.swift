import CLinux
import Glibc

/// A mutex that works in a forked child, too, as `Mutex` does not.
///
/// `Mutex` hands the kernel the number of the thread that holds it, and the number that a thread knows of itself is the
/// parent's in a child: there the kernel refuses the first unlock that someone waits for. And a mutex that another thread
/// holds during the fork would stay held in the child for ever. Here a fork waits until none is held (`linux_enter`), so that
/// what they guard is whole in the child.
///
/// It is unchecked `Sendable` as `mutex` guards `value`, which the compiler can't see.
package final class ForkSafeMutex<Value: ~Copyable>: @unchecked Sendable {
    private let value: UnsafeMutablePointer<Value>
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ value: consuming sending Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// Runs a body with the value, while no other thread has it; as with `Mutex`, not to be called by the body.
    package func withLock<Result: ~Copyable, Failure>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        linux_enter(linux_gate_lock)
        pthread_mutex_lock(mutex)
        defer {
            pthread_mutex_unlock(mutex)
            linux_leave(linux_gate_lock)
        }
        return try body(&value.pointee)
    }
}
