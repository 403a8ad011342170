import DefaultsCore
import Dispatch
import Linux

/// A one-time event that a single thread or task waits for.
final class Latch: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let wakeUp = WakeUp()

    /// Resumes the waiter, now or when it begins to wait.
    func open() {
        semaphore.signal()
        wakeUp.fill()
    }

    /// Abandons the waiter in a forked child, where it belongs to the parent.
    ///
    /// A semaphore must not be freed while it counts a waiting thread, so it is signaled. A task must not be resumed,
    /// since it continues in the parent, so the wake-up is deliberately leaked.
    func abandon() {
        semaphore.signal()
        _ = Unmanaged.passRetained(wakeUp)
    }

    /// Blocks the calling thread until the latch opens.
    ///
    /// Must not be called in a task, where it would block a thread of the shared pool; use `opened` there.
    ///
    /// - Parameter milliseconds: The timeout; `nil` for none.
    /// - Returns: False after the timeout.
    func wait(milliseconds: Int? = nil) -> Bool {
        guard let milliseconds else {
            semaphore.wait()
            return true
        }
        return semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
    }

    /// Suspends the calling task until the latch opens.
    ///
    /// - Returns: False if the task was canceled.
    func opened() async -> Bool { await wakeUp.wait() }
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
    private let latch = Latch()
    /// The reasons why edits aren't safe, set before the latch opens.
    private let failures = ForkSafeMutex<[DefaultsError]>([])

    init(_ purpose: Purpose) {
        self.purpose = purpose
    }

    /// Ends the wait.
    ///
    /// - Parameter failures: The reasons why edits aren't safe.
    func finish(_ failures: [DefaultsError] = []) {
        self.failures.withLock { $0 = failures }
        latch.open()
    }

    /// Abandons the waiter in a forked child.
    func abandon() { latch.abandon() }

    /// Blocks the calling thread until the barrier finishes.
    ///
    /// - Parameter milliseconds: The timeout; `nil` for none.
    /// - Returns: The reasons why edits aren't safe; `nil` after the timeout.
    func wait(milliseconds: Int? = nil) -> [DefaultsError]? {
        latch.wait(milliseconds: milliseconds) ? failures.withLock { $0 } : nil
    }

    /// Suspends the calling task until the barrier finishes.
    ///
    /// - Returns: The reasons why edits aren't safe; `nil` if the task was canceled.
    func finished() async -> [DefaultsError]? {
        await latch.opened() ? failures.withLock { $0 } : nil
    }
}

/// The barriers that haven't finished yet.
struct PendingBarriers {
    /// The barriers that wait for the session; those that arrived together share one number.
    private var durable: [UInt64: [Barrier]] = [:]
    private var last: UInt64 = 0
    /// The numbers that have yet to be requested from the session.
    private var unasked: [UInt64] = []
    /// The barriers that wait until edits are handed over.
    private var handovers: [Barrier] = []

    /// Whether the process is ending, and waits until its edits are handed over.
    var isHandingOver: Bool { !handovers.isEmpty }

    /// Adds barriers that arrived together.
    mutating func add(_ new: [Barrier]) {
        handovers += new.filter { $0.purpose == .handedOver }
        let together = new.filter { $0.purpose == .durable }
        if together.isEmpty { return }
        last += 1
        durable[last] = together
        unasked.append(last)
    }

    /// Returns the numbers to request from the session, in order.
    mutating func dequeueUnasked() -> [UInt64] {
        defer { unasked = [] }
        return unasked
    }

    /// Marks all numbers to be requested again, from a new session.
    mutating func startOver() { unasked = durable.keys.sorted() }

    /// Finishes the barriers that share a number.
    mutating func finish(_ number: UInt64, _ failures: [DefaultsError]) {
        for barrier in durable.removeValue(forKey: number) ?? [] { barrier.finish(failures) }
    }

    /// Finishes the barriers that wait until edits are handed over.
    mutating func finishHandingOver() {
        for barrier in handovers { barrier.finish() }
        handovers = []
    }

    /// Finishes all barriers, since nothing more can be done for them.
    mutating func finishAll() {
        for number in durable.keys.sorted() { finish(number, []) }
        finishHandingOver()
    }
}
