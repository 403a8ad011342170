import DefaultsCore
import Glibc
import Synchronization

/// The agent's session, as two kinds of threads use it: `LiveThread`, and a caller whose edit is to leave the process before
/// the call returns.
///
/// Both hold its lock while they use the session, which never waits. The lock of `LiveDomains` may be taken under it, no
/// other, and nobody else is called.
final class SessionLine: Sendable {
    /// Unchecked `Sendable`, as the lock guards the session: `LiveThread` uses it by `exclusively` alone.
    private struct Line: @unchecked Sendable {
        var session: AgentSession?
        /// The events and the deadline that `LiveThread` waits for; `nil` while it is at work, and looks again before it waits.
        var awaited: (events: Int16, deadline: MonotonicTime?)?
    }

    private let line = ForkSafeMutex(Line())
    private let hasSession = Atomic(false)

    /// Lets callers use a session from now on; with `nil`, none.
    func open(_ session: AgentSession?) {
        line.withLock { $0.session = session }
        hasSession.store(session != nil, ordering: .relaxed)
    }

    /// Runs a body of `LiveThread` while no caller uses the session.
    ///
    /// - Parameter isShared: whether the session is an agent's; a store of the process's own waits for the disk.
    func exclusively<Value: Sendable, Failure>(
        _ isShared: Bool, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard isShared else { return try body() }
        return try line.withLock { line throws(Failure) in
            line.awaited = nil
            return try body()
        }
    }

    /// Notes what `LiveThread` is about to wait for.
    func await(_ session: (any Session)?) -> (awaited: pollfd?, deadline: MonotonicTime?) {
        line.withLock { line in
            let (awaited, deadline) = (session?.awaited, session?.deadline)
            line.awaited = (awaited?.events ?? 0, deadline)
            return (awaited, deadline)
        }
    }

    /// Sends edits on a caller's thread.
    ///
    /// - Parameter take: dequeues the edits; `nil` when `LiveThread` is to send them, after something else.
    /// - Returns: whether `LiveThread` is to be woken: it has something to send, to wait for, or to mend.
    func send(_ take: () -> [EditRequest]?) -> Bool {
        guard hasSession.load(ordering: .relaxed) else { return true }
        return line.withLock { line in
            guard let session = line.session, let edits = take() else { return true }
            do throws(DefaultsError) {
                for edit in edits { try session.edit(edit) }
            } catch {
                // `LiveThread` finds the same, and asks the next session for these edits.
                return true
            }
            guard let awaited = line.awaited else { return false }
            let isLater = session.deadline.map { $0 < awaited.deadline ?? .distantFuture } ?? false
            return isLater || session.awaited.events != awaited.events
        }
    }

    /// Starts over in a forked child, where the session is the parent's and its descriptor closed.
    func startOver() {
        hasSession.store(false, ordering: .relaxed)
        // Never released: that would close a descriptor which may be another one's by now.
        if let session = line.withLock({ $0.session }) { _ = Unmanaged.passRetained(session) }
        line.withLock { $0 = Line() }
    }
}

/// The rate at which callers send their edits themselves.
///
/// A burst's edits leave together, by way of `LiveThread`, so that those are joined which the agent has no time for.
///
/// Pure; the edits' own times are its clock.
struct SendingRate: Sendable {
    private var credit = Self.burst
    private var last: Int64 = 0

    /// So many edits leave at once, and one more for each millisecond since; and so many may wait for their answers.
    private static let burst: Int64 = 16

    /// Whether the caller of an edit sends it.
    ///
    /// - Parameters:
    ///   - time: the time of the edit.
    ///   - unanswered: the number of edits that the agent has yet to answer, this one included.
    mutating func admits(_ time: Timestamp, unanswered: Int) -> Bool {
        if unanswered > Self.burst { return false }
        let elapsed = (time.nanoseconds - last) / 1_000_000
        if elapsed != 0 {
            // A clock that was set back earns nothing but a new beginning.
            credit = min(Self.burst, credit + max(0, elapsed))
            last = time.nanoseconds
        }
        guard credit > 0 else { return false }
        credit -= 1
        return true
    }
}
