import CFork
import Glibc

/// The mutex used throughout this package, which works in a forked child and is known to the thread sanitizer.
///
/// `Synchronization.Mutex` isn't an alternative. The sanitizer doesn't see its locks, and so reports false races. Nor
/// does it work in a forked child, for two reasons. It caches the thread's ID, which in a child is still the parent's,
/// so the kernel refuses the lock as soon as two threads contend for it. And if another thread holds it during the
/// fork, it stays locked in the child forever. A fork waits until no mutex of this type is held (`fork_enter`), so a
/// child never sees a half-changed value.
///
/// The type is unchecked `Sendable` because the compiler can't see that `mutex` guards `value`.
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
    /// As with `Mutex`, the closure must not call this method on the same mutex.
    package func withLock<Result: ~Copyable, Failure>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        fork_enter(fork_gate_lock)
        pthread_mutex_lock(mutex)
        defer {
            pthread_mutex_unlock(mutex)
            fork_leave(fork_gate_lock)
        }
        return try body(&value.pointee)
    }

    /// Calls a closure with exclusive access to the value, unless another thread has it.
    ///
    /// - Returns: The closure's result; `nil` if another thread has access.
    package func withLockIfAvailable<Result: ~Copyable, Failure>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        fork_enter(fork_gate_lock)
        defer { fork_leave(fork_gate_lock) }
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}

/// A closure as the value of a generic type, such as a mutex.
///
/// Each read and write of a bare closure in a generic type wraps it in another thunk; this type is wrapped only once.
package struct Callback<Argument, Result>: Sendable {
    private let body: @Sendable (Argument) -> Result

    package init(_ body: @escaping @Sendable (Argument) -> Result) { self.body = body }

    /// Calls the closure.
    package func callAsFunction(_ argument: Argument) -> Result { body(argument) }
}
