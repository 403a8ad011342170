import DefaultsCore
import Glibc
import Linux
import Synchronization

/// The agent's session, shared by `ClientThread` and by callers that send an edit before their call returns.
///
/// Both hold the lock while they use the session, whose calls never wait. Lock order: this lock, then `Client.state`.
/// Under this lock, no other lock is acquired except that of `barriers`, and no caller's
/// code runs.
final class SessionLine: Sendable {
    /// The session, and the state of the thread that waits for it.
    ///
    /// The type is unchecked `Sendable` because the lock guards the session: `ClientThread` uses it only within
    /// `exclusively`.
    private struct Line: @unchecked Sendable {
        var session: AgentSession?
        /// The events and the deadline that `ClientThread` waits for.
        ///
        /// `nil` while the thread is working; it checks both again before it waits.
        var awaited: (events: Int16, deadline: MonotonicTime?)?
    }

    /// The longest time in milliseconds that `ClientThread` waits after an active period.
    private static let activePause: Int64 = 1_000

    private let line = ForkSafeMutex(Line())
    /// The barriers that wait for the session.
    let barriers = PendingBarriers()
    private let hasSession = Atomic(false)

    /// Makes a session available to callers; `nil` makes it unavailable.
    func open(_ session: AgentSession?) {
        line.withLock { $0.session = session }
        hasSession.store(session != nil, ordering: .relaxed)
    }

    /// Runs a closure on `ClientThread` while no caller uses the session.
    ///
    /// - Parameters:
    ///   - isShared: Whether the session is with an agent. An embedded session needs no lock: callers never use it,
    ///     since it waits for the disk.
    ///   - body: The closure that uses the session.
    /// - Returns: The body's result.
    /// - Throws: The body's error.
    func exclusively<Value: Sendable, Failure>(
        _ isShared: Bool, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard isShared else { return try body() }
        return try line.withLock { line throws(Failure) in
            line.awaited = nil
            return try body()
        }
    }

    /// Records the events and the deadline that `ClientThread` is about to wait for.
    ///
    /// - Parameters:
    ///   - session: The session that is waited for.
    ///   - isActive: Whether requests are likely to follow soon. The deadline is then so early that none of them makes
    ///     it earlier, which would require waking the thread.
    /// - Returns: The events, and the deadline, if there is one.
    func prepareToWait(
        for session: AgentSession, isActive: Bool
    ) -> (awaited: pollfd, deadline: MonotonicTime?) {
        line.withLock { line in
            let awaited = session.awaited
            var deadline = session.deadline
            if isActive { deadline = min(deadline ?? .distantFuture, .now() + Self.activePause) }
            line.awaited = (awaited.events, deadline)
            return (awaited, deadline)
        }
    }

    /// Sends edits on a caller's thread.
    ///
    /// - Parameter dequeue: A closure that dequeues the edits, or returns `nil` if `ClientThread` must send something
    ///   else first.
    /// - Returns: Whether `ClientThread` must be woken to send, to wait for less time, or to replace a lost session.
    func send(_ dequeue: () -> [EditRequest]?) -> Bool {
        send(dequeue) { (session, edits) throws(DefaultsError) in
            for edit in edits { try session.edit(edit) }
        } ?? true
    }

    /// Sends edits on a caller's thread, and then the request on which a barrier waits.
    ///
    /// - Parameters:
    ///   - barrier: The barrier that the answer finishes.
    ///   - dequeue: A closure that dequeues the edits and returns the domains to save, or `nil` if `ClientThread` must
    ///     send something else first.
    /// - Returns: Whether `ClientThread` must be woken; `nil` if it must send the barrier's request, too.
    func send(_ barrier: Barrier, _ dequeue: () -> (edits: [EditRequest], domains: [Domain])?) -> Bool? {
        send(dequeue) { (session, requests) throws(DefaultsError) in
            // If the session fails, `ClientThread` asks the next one.
            let number = barriers.add(asked: barrier)
            for edit in requests.edits { try session.edit(edit) }
            try session.synchronize(requests.domains, as: number)
        }
    }

    /// Sends requests on a caller's thread.
    ///
    /// - Returns: Whether `ClientThread` must be woken; `nil` if there is nothing to send, or no session.
    private func send<Requests>(
        _ dequeue: () -> Requests?, _ body: (AgentSession, Requests) throws(DefaultsError) -> Void
    ) -> Bool? {
        guard hasSession.load(ordering: .relaxed) else { return nil }
        return line.withLock { line in
            guard let session = line.session, let requests = dequeue() else { return nil }
            do throws(DefaultsError) {
                try body(session, requests)
            } catch {
                // `ClientThread` gets the same error, and sends these edits to the next session.
                return true
            }
            guard let awaited = line.awaited else { return false }
            let isSooner = session.deadline.map { $0 < awaited.deadline ?? .distantFuture } ?? false
            return isSooner || session.awaited.events != awaited.events
        }
    }

    /// Starts over in a forked child, where the session belongs to the parent and its descriptor is closed.
    func startOver() {
        hasSession.store(false, ordering: .relaxed)
        // Leak the session on purpose: its deinitializer would close a descriptor that may already belong to another
        // file.
        if let session = line.withLock({ $0.session }) { _ = Unmanaged.passRetained(session) }
        line.withLock { $0 = Line() }
        barriers.startOver()
    }
}

/// The limit on edits that callers send themselves.
///
/// Other edits in a burst go through `ClientThread`, which joins edits that it can't send yet.
///
/// Pure: the edits' times serve as the clock.
struct SendingRate: Sendable {
    private var credit = Self.burst
    private var last: Int64 = 0

    /// The number of edits that callers may send in a burst, replenished at one per millisecond.
    ///
    /// Also the maximum number of unanswered edits.
    private static let burst: Int64 = 16

    /// Returns whether the caller of an edit sends it.
    ///
    /// - Parameters:
    ///   - time: The time of the edit.
    ///   - unanswered: The number of edits, including this one, that the agent has yet to answer.
    /// - Returns: False if `ClientThread` must send it.
    mutating func admits(_ time: Timestamp, unanswered: Int) -> Bool {
        if unanswered > Self.burst { return false }
        let elapsed = (time.nanoseconds - last) / 1_000_000
        if elapsed != 0 {
            // If the clock was set back, no credit is added.
            credit = min(Self.burst, credit + max(0, elapsed))
            last = time.nanoseconds
        }
        guard credit > 0 else { return false }
        credit -= 1
        return true
    }
}
