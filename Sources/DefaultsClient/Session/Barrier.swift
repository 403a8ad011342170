package import DefaultsCore
import Glibc
import Linux

/// A one-time event that a single thread or task waits for.
final class Latch: Sendable {
    /// The condition of a waiting thread, by the monotonic clock.
    ///
    /// A semaphore of Dispatch has a timeout by the wall clock, which may be set meanwhile. Any thread may use the
    /// condition and its mutex at any time.
    nonisolated(unsafe) private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    nonisolated(unsafe) private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// Guarded by the mutex.
    nonisolated(unsafe) private var isOpen = false
    private let wakeUp = WakeUp()

    init() {
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        condition.deallocate()
        mutex.deallocate()
    }

    /// Resumes the waiter, now or when it begins to wait.
    func open() {
        pthread_mutex_lock(mutex)
        isOpen = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
        wakeUp.fill()
    }

    /// Abandons the waiter in a forked child, where it belongs to the parent.
    ///
    /// A task must not be resumed, since it continues in the parent, so the wake-up is deliberately leaked.
    func abandon() { _ = Unmanaged.passRetained(wakeUp) }

    /// Blocks the calling thread until the latch opens.
    ///
    /// Must not be called in a task, where it would block a thread of the shared pool; use `opened` there.
    ///
    /// - Parameter milliseconds: The timeout; `nil` for none.
    /// - Returns: False after the timeout.
    func wait(milliseconds: Int? = nil) -> Bool {
        let end = milliseconds.map { (MonotonicTime.now() + Int64($0)).milliseconds }
        var time = timespec(tv_sec: Int((end ?? 0) / 1_000), tv_nsec: Int((end ?? 0) % 1_000 * 1_000_000))
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isOpen {
            if end == nil {
                pthread_cond_wait(condition, mutex)
            } else if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT {
                return isOpen
            }
        }
        return true
    }

    /// Suspends the calling task until the latch opens.
    ///
    /// - Returns: False if the task was canceled.
    func opened() async -> Bool { await wakeUp.wait() }
}

/// The outcome of a wait for edits to be durable.
package struct SavingOutcome: Sendable {
    /// The reasons why edits aren't durable yet; they stay in effect, and saving is retried.
    package internal(set) var failures: [DefaultsError] = []
    /// The reasons why edits were refused; they aren't in effect anymore.
    package internal(set) var refusals: [DefaultsError] = []
}

/// A wait for edits to be safe and for earlier changes by others to arrive.
final class Barrier: Sendable {
    /// The condition that a barrier waits for.
    enum Purpose {
        /// Edits are durable, and earlier changes by others have arrived.
        case durable
        /// Edits outlive the process.
        case handedOver
    }

    let purpose: Purpose
    /// The number of the last edit that the barrier waits for.
    let last: UInt64
    private let latch = Latch()
    private let state: ForkSafeMutex<State>

    private struct State {
        /// The outcome, which is complete when the latch opens.
        var outcome: SavingOutcome
        var hasFinished = false
    }

    /// Creates a barrier.
    ///
    /// - Parameters:
    ///   - purpose: The condition that it waits for.
    ///   - last: The number of the last edit that it waits for.
    ///   - refusals: The reasons why earlier edits were refused.
    init(_ purpose: Purpose, upTo last: UInt64 = 0, after refusals: [DefaultsError] = []) {
        self.purpose = purpose
        self.last = last
        state = ForkSafeMutex(State(outcome: SavingOutcome(refusals: refusals)))
    }

    var hasFinished: Bool { state.withLock { $0.hasFinished } }

    /// The reasons why edits were refused, as far as they are known.
    var refusals: [DefaultsError] { state.withLock { $0.outcome.refusals } }

    /// Adds the reason why an edit that the barrier waits for was refused.
    func refuse(_ error: DefaultsError) { state.withLock { $0.outcome.refusals.append(error) } }

    /// Ends the wait.
    ///
    /// - Parameter failures: The reasons why edits aren't safe.
    func finish(_ failures: [DefaultsError] = []) {
        state.withLock { state in
            state.outcome.failures += failures
            state.hasFinished = true
        }
        latch.open()
    }

    /// Abandons the waiter in a forked child.
    func abandon() { latch.abandon() }

    /// Blocks the calling thread until the barrier finishes.
    ///
    /// - Parameter milliseconds: The timeout; `nil` for none.
    /// - Returns: The outcome; `nil` after the timeout.
    func wait(milliseconds: Int? = nil) -> SavingOutcome? {
        latch.wait(milliseconds: milliseconds) ? state.withLock { $0.outcome } : nil
    }

    /// Suspends the calling task until the barrier finishes.
    ///
    /// - Returns: The outcome; `nil` if the task was canceled.
    func finished() async -> SavingOutcome? {
        await latch.opened() ? state.withLock { $0.outcome } : nil
    }
}

/// The barriers that haven't finished yet, shared by `ClientThread` and by callers that send their own requests.
///
/// In the lock order, the lock comes after all others.
final class PendingBarriers: Sendable {
    private struct State {
        /// The barriers that wait for the session; those that arrived together share one number.
        var durable: [UInt64: [Barrier]] = [:]
        var last: UInt64 = 0
        /// The numbers that have yet to be requested from the session.
        var unasked: [UInt64] = []
        /// The barriers that wait until edits are handed over.
        var handovers: [Barrier] = []

        /// Adds barriers that wait for the session together, and returns their number.
        mutating func add(_ new: [Barrier]) -> UInt64 {
            last += 1
            durable[last] = new
            return last
        }
    }

    private let state = ForkSafeMutex(State())

    var isEmpty: Bool { state.withLock { $0.durable.isEmpty && $0.handovers.isEmpty } }

    /// Whether the process is ending, and waits until its edits are handed over.
    var isHandingOver: Bool { state.withLock { !$0.handovers.isEmpty } }

    /// Adds barriers that arrived together and have yet to be requested from the session.
    func add(_ new: [Barrier]) {
        if new.isEmpty { return }
        state.withLock { state in
            state.handovers += new.filter { $0.purpose == .handedOver }
            let together = new.filter { $0.purpose == .durable }
            if !together.isEmpty { state.unasked.append(state.add(together)) }
        }
    }

    /// Adds a barrier that the caller requests from the session; returns its number.
    func add(asked barrier: Barrier) -> UInt64 { state.withLock { $0.add([barrier]) } }

    /// Returns the numbers to request from the session, in order.
    func dequeueUnasked() -> [UInt64] {
        state.withLock { state in
            defer { state.unasked = [] }
            return state.unasked
        }
    }

    /// Returns the last edit that the barriers with a number wait for; 0 if none do.
    func last(of number: UInt64) -> UInt64 { state.withLock { $0.durable[number]?.map(\.last).max() ?? 0 } }

    /// Marks a number to be requested again.
    func askAgain(_ number: UInt64) { state.withLock { $0.unasked.append(number) } }

    /// Marks all numbers to be requested again, from a new session.
    func beginSession() { state.withLock { $0.unasked = $0.durable.keys.sorted() } }

    /// Finishes the barriers that share a number.
    func finish(_ number: UInt64, with failures: [DefaultsError]) {
        let finished = state.withLock { $0.durable.removeValue(forKey: number) } ?? []
        for barrier in finished { barrier.finish(failures) }
    }

    /// Finishes the barriers that wait until edits are handed over.
    func finishHandingOver() {
        let finished = state.withLock { state in
            defer { state.handovers = [] }
            return state.handovers
        }
        for barrier in finished { barrier.finish() }
    }

    /// Finishes all barriers, since nothing more can be done for them.
    func finishAll() {
        for number in state.withLock({ $0.durable.keys.sorted() }) { finish(number, with: []) }
        finishHandingOver()
    }

    /// Abandons all barriers in a forked child, where they belong to the parent's threads.
    func startOver() {
        let abandoned = state.withLock { state in
            defer { state = State() }
            return state.durable.values.flatMap(\.self) + state.handovers
        }
        for barrier in abandoned { barrier.abandon() }
    }
}
