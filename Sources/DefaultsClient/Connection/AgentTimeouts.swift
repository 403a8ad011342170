import DefaultsCore
import Glibc
import Linux

/// The timeouts, in milliseconds, after which a client gives up on a silent agent.
///
/// An agent whose process is unknown, for example because it accepts no connections, counts as stopped.
package struct AgentTimeouts: Sendable {
    /// The timeout for an agent that is stopped, or whose state is unknown.
    package var stopped: Int64
    /// The timeout for a busy agent: one whose process is running.
    package var busy: Int64

    package init(stopped: Int64, busy: Int64) {
        self.stopped = stopped
        self.busy = max(stopped, busy)
    }

    /// Creates equal timeouts, for clients that would rather continue without the agent than wait.
    package init(_ milliseconds: Int64) { self.init(stopped: milliseconds, busy: milliseconds) }

    /// The timeouts of programs that wait for answers.
    package static let usual = AgentTimeouts(stopped: 5_000, busy: 60_000)
    /// The timeouts of requests that wait for the disk.
    package static let disk = AgentTimeouts(stopped: 30_000, busy: 60_000)
    /// The timeouts for the greeting of an agent at another socket, which may not be the directory's.
    static let otherAgent = AgentTimeouts(250)
    /// The timeouts for the greeting of an agent that the connection starts, through a service manager.
    static let startingAgent = AgentTimeouts(stopped: 5_000, busy: 10_000)
    /// The timeouts for notifying an agent, which may have just started, of a save that is durable without it.
    static let notification = AgentTimeouts(2_000)

    // MARK: Sessions

    /// The silence after which a session with unanswered requests ends.
    static let session: Int64 = 5_000
    /// The time after which a session ends if the agent sends other messages but no answer.
    static let maximumSession: Int64 = 120_000
    /// The silence after which a session ends if the unanswered requests wait for the disk.
    static let diskSession: Int64 = 60_000
    /// The silence after which a session ends while the process exits and waits until its edits are accepted.
    static let exitSession: Int64 = 1_000
    /// The time without progress after which an exiting process abandons its edits: longer than the wait for the
    /// directory's lock.
    static let handOver = 12_000
    /// The divisor of a time: a thread that used less of it than this part counts as waiting for a lock or a disk.
    static let idleShare = 30
    /// The silence after which an agent is asked whether it is still there, while changes are observed.
    package static let keepAlive: Int64 = 30_000
    /// The delays before a silent agent is tried again.
    static let retry = RetryDelay(first: .seconds(30), limit: .seconds(600))
}

/// A client's attempts to reach the agent, and the delays between them.
///
/// Pure; it has no clock.
struct AgentAttempts {
    /// The time before which no attempt is made.
    private var next = MonotonicTime(milliseconds: 0)
    /// The number of consecutive timeouts.
    private var silences = 0

    /// Whether the agent may be tried.
    func areDue(at now: MonotonicTime) -> Bool { next <= now }

    /// Records a timeout, and postpones the next attempt, for twice as long after each timeout.
    ///
    /// - Returns: Whether to report it, which happens once until the agent responds.
    mutating func recordSilence(at now: MonotonicTime) -> Bool {
        defer { silences += 1 }
        postpone(until: now + AgentTimeouts.retry.after(silences))
        return silences == 0
    }

    mutating func postpone(until time: MonotonicTime) { next = time }

    /// Records that the agent has responded.
    mutating func recordResponse() { silences = 0 }
}
