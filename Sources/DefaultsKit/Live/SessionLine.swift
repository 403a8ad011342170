import DefaultsCore
import Glibc
import Linux
import Synchronization

/// The agent's session, shared by `LiveThread` and by callers that send an edit before their call returns.
///
/// Both hold its lock while they use the session, whose calls never wait. Lock order: this lock, then
/// `LiveDomains.state`. No other lock is taken, and no caller's code runs, under it.
final class SessionLine: Sendable {
    /// Unchecked `Sendable`, as the lock guards the session: `LiveThread` uses it by `exclusively` alone.
    private struct Line: @unchecked Sendable {
        var session: AgentSession?
        /// The events and the deadline that `LiveThread` waits for; `nil` while it is working: it looks again before it waits.
        var awaited: (events: Int16, deadline: MonotonicTime?)?
    }

    private let line = ForkSafeMutex(Line())
    private let hasSession = Atomic(false)

    /// Opens a session to callers, or closes it with `nil`.
    func open(_ session: AgentSession?) {
        line.withLock { $0.session = session }
        hasSession.store(session != nil, ordering: .relaxed)
    }

    /// Runs a body on `LiveThread` while no caller uses the session.
    ///
    /// - Parameters:
    ///   - isShared: whether the session is an agent's; a store of the process's own waits for the disk, and is no caller's.
    ///   - body: uses the session.
    /// - Returns: what the body returns.
    /// - Throws: what the body throws.
    func exclusively<Value: Sendable, Failure>(
        _ isShared: Bool, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard isShared else { return try body() }
        return try line.withLock { line throws(Failure) in
            line.awaited = nil
            return try body()
        }
    }

    /// Records the events and the deadline that `LiveThread` is about to wait for.
    func prepareToWait(for session: (any Session)?) -> (awaited: pollfd?, deadline: MonotonicTime?) {
        line.withLock { line in
            let (awaited, deadline) = (session?.awaited, session?.deadline)
            line.awaited = (awaited?.events ?? 0, deadline)
            return (awaited, deadline)
        }
    }

    /// Sends edits on a caller's thread.
    ///
    /// - Parameter take: dequeues the edits; `nil` if `LiveThread` must send something else first.
    /// - Returns: whether `LiveThread` must be woken to send, to wait for less time, or to replace a lost session.
    func send(_ take: () -> [EditRequest]?) -> Bool {
        guard hasSession.load(ordering: .relaxed) else { return true }
        return line.withLock { line in
            guard let session = line.session, let edits = take() else { return true }
            do throws(DefaultsError) {
                for edit in edits { try session.edit(edit) }
            } catch {
                // `LiveThread` meets the same error, and sends these edits to the next session.
                return true
            }
            guard let awaited = line.awaited else { return false }
            let isSooner = session.deadline.map { $0 < awaited.deadline ?? .distantFuture } ?? false
            return isSooner || session.awaited.events != awaited.events
        }
    }

    /// Starts over in a forked child, where the session is the parent's and its descriptor closed.
    func startOver() {
        hasSession.store(false, ordering: .relaxed)
        // Never released: that would close a descriptor that may belong to another file by now.
        if let session = line.withLock({ $0.session }) { _ = Unmanaged.passRetained(session) }
        line.withLock { $0 = Line() }
    }
}

/// The limit on edits that callers send themselves.
///
/// The edits of a burst go through `LiveThread` together, which joins those that the agent has no time for.
///
/// Pure; the edits' own times are its clock.
struct SendingRate: Sendable {
    private var credit = Self.burst
    private var last: Int64 = 0

    /// The number of edits that may leave at once, regained at one a millisecond; also the most that may be unanswered.
    private static let burst: Int64 = 16

    /// Whether the caller of an edit sends it.
    ///
    /// - Parameters:
    ///   - time: the time of the edit.
    ///   - unanswered: the number of edits that the agent has yet to answer, this one included.
    /// - Returns: false when it is to go through `LiveThread`.
    mutating func admits(_ time: Timestamp, unanswered: Int) -> Bool {
        if unanswered > Self.burst { return false }
        let elapsed = (time.nanoseconds - last) / 1_000_000
        if elapsed != 0 {
            // A clock that was set back earns no credit.
            credit = min(Self.burst, credit + max(0, elapsed))
            last = time.nanoseconds
        }
        guard credit > 0 else { return false }
        credit -= 1
        return true
    }
}
