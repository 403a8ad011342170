import Linux

/// The decisions about starting an agent, until one answers: when to start one, and when to give up.
///
/// Several commands may start agents at the same time. One of the agents claims the directory, the others exit, and all
/// commands follow that one.
///
/// Pure; it has no clock.
struct AgentStart {
    typealias Time = ContinuousClock.Instant

    /// The agent that this command started last.
    private enum OwnAgent {
        case none
        /// It was started for an earlier connection, and may be ending.
        case earlier
        case starting
    }

    /// A step to take when no agent answers.
    enum Step {
        /// Start an agent, and wait.
        case start
        /// Wait, and try again.
        case wait
        case giveUp
    }

    private var own: OwnAgent
    /// The time before which this command starts no agent, so that another agent can start first.
    private var start: Time
    private var deadline: Time
    /// The time after which no other agent is started, once one has ended without answering.
    private var retryLimit: Time?
    /// The number of agents that have ended without answering.
    private var ends = 0
    /// The number of attempts to connect since an agent was started or ended.
    private var attempts = 0
    /// Whether the last agent exited because another one serves the directory or the socket.
    private(set) var wasRefused = false

    /// The time within which an agent started by this command must answer.
    static let startTimeout = Duration.seconds(60)
    /// The time within which another agent must answer.
    static let otherTimeout = Duration.seconds(10)
    /// The time for which agents are started after one has ended without answering.
    static let retryTimeout = Duration.seconds(5)
    private static let restart = RetryDelay(first: .seconds(1), limit: retryTimeout)

    /// Begins to look for an agent.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - delay: The time before this command starts an agent.
    ///   - hasOwn: Whether an agent that this command started is still running.
    init(at now: Time, delay: Duration, hasOwn: Bool) {
        own = hasOwn ? .earlier : .none
        start = now + delay
        deadline = start + Self.otherTimeout
    }

    /// Records that the agent that this command started has ended.
    ///
    /// - Parameters:
    ///   - status: The exit status as a shell reports it.
    ///   - now: The current time.
    /// - Returns: False if another agent would end in the same way.
    mutating func end(with status: Int32, at now: Time) -> Bool {
        own = .none
        guard status == 0 || status == ChildAgent.anotherAgentRuns || status > 128 else { return false }
        wasRefused = status == ChildAgent.anotherAgentRuns
        // The agent that won the claim will answer soon, unless it has ended too. Retry, but not forever.
        deadline = retryLimit ?? max(start, now) + Self.retryTimeout
        retryLimit = deadline
        start = max(start, now + Self.restart.after(ends))
        ends += 1
        attempts = 0
        return true
    }

    /// Decides about the next step, after no agent has answered.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - isPresent: Whether an agent has accepted the connection and dropped it.
    /// - Returns: The step.
    mutating func step(at now: Time, isPresent: Bool) -> Step {
        if now >= deadline { return .giveUp }
        guard case .none = own, !isPresent, now >= start else { return .wait }
        own = .starting
        deadline = now + Self.startTimeout
        attempts = 0
        return .start
    }

    /// Returns the time to wait before the next attempt.
    mutating func nextPause() -> Duration {
        defer { attempts += 1 }
        let limit: Duration = if case .starting = own { .milliseconds(50) } else { .milliseconds(250) }
        return RetryDelay(first: .milliseconds(10), limit: limit).after(attempts)
    }
}
