import CLinux
import Glibc

/// The one kind of mutex in this package: it works in a forked child, and the thread sanitizer knows it.
///
/// The sanitizer doesn't see the locks of `Synchronization.Mutex`, and reports races under it that don't exist. And
/// `Mutex` doesn't work in a forked child, for two reasons. It caches the thread's id, which in a child is still the
/// parent's, so the kernel refuses the lock as soon as two threads contend for it. And if another thread holds it
/// during the fork, it stays locked in the child forever. A fork waits until no mutex of this type is held
/// (`linux_enter`), so a child never sees a half-changed value.
///
/// The type is unchecked `Sendable` because `mutex` guards `value`, which the compiler can't see.
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

    /// Calls a closure with exclusive access to the value.
    ///
    /// As with `Mutex`, the closure must not call this method again.
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
