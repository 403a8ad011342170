import DefaultsCore

/// A conditional edit, which is made only if certain keys have their expected values.
///
/// The barrier finishes with the outcome.
struct Commit: Sendable {
    let domain: Domain
    let values: Difference
    let expected: Difference
    /// The reason for an edit in memory.
    var origin: Origin?
    let barrier = Barrier(.durable)

    /// Returns the request, with an identity by which an agent recognizes a duplicate.
    func request(_ identity: EditIdentity) -> EditRequest {
        EditRequest(domain: domain, values: values, writer: .app(.current), identity: identity, expecting: expected)
    }

    /// The error of an edit whose condition doesn't hold.
    var conditionError: DefaultsError { .condition(of: domain) }

    /// The error of an edit that was never sent, or whose outcome is unknown because both the answer and the agent's
    /// log were lost.
    var unknownOutcome: DefaultsError {
        DefaultsError(
            .agentUnavailable,
            "The agent ended or stopped responding before it confirmed an edit of \(domain). The edit may have been "
                + "made, or may still be made.",
            remedy: "Read the value before you try again.")
    }
}

/// The conditional edits to make, in order and one at a time.
///
/// If an edit is sent twice, the agent knows by its number whether it has been made.
///
/// Pure, except that it finishes the barriers of failed edits.
struct CommitQueue {
    private var commits: ArraySlice<Commit> = []
    private var lastNumber: UInt64 = 0
    private var state = State.idle

    /// The state of the first edit.
    private enum State {
        case idle
        /// The edit was sent to an agent with this log, or passed to an embedded session, which has no epoch, after the
        /// process's other edits up to a number.
        case sent(Epoch?, after: UInt64)
    }

    var isEmpty: Bool { commits.isEmpty }

    mutating func add(_ new: [Commit]) { commits += new }

    /// Begins the next edit, unless one is under way.
    ///
    /// Edits whose condition already fails for the loaded values are rejected immediately.
    ///
    /// - Parameters:
    ///   - log: The log of the session's agent; `nil` without an agent.
    ///   - last: The number of the process's last other edit.
    ///   - holds: A closure that returns whether an edit's condition holds for the loaded values.
    /// - Returns: The edit to send and its number; `nil` if there is nothing to send.
    mutating func begin(
        in log: Epoch?, after last: UInt64, if holds: (Commit) -> Bool
    ) -> (commit: Commit, number: UInt64)? {
        guard case .idle = state else { return nil }
        while let next = commits.first, !holds(next) {
            commits.removeFirst()
            next.barrier.finish([next.conditionError])
        }
        guard let next = commits.first else { return nil }
        lastNumber += 1
        state = .sent(log, after: last)
        return (next, lastNumber)
    }

    /// Resumes the edit under way.
    ///
    /// In a new session with the same log, which tells whether the edit was made, it is to be resent. With another log,
    /// its outcome is unknown.
    mutating func resume(in log: Epoch?) -> Resumption? {
        guard case .sent(let former, let last) = state, let commit = commits.first else { return nil }
        if let former, former == log { return .sendAgain(commit, number: lastNumber) }
        return .fail(finish(), after: last)
    }

    /// The way to go on with the edit under way in a new session.
    enum Resumption {
        case sendAgain(Commit, number: UInt64)
        /// Fail an edit whose outcome is unknown, which was sent after the process's other edits up to a number.
        case fail(Commit, after: UInt64)
    }

    /// Removes and returns the edit under way, whose outcome is known.
    mutating func finish() -> Commit {
        state = .idle
        return commits.removeFirst()
    }

    /// Fails all edits.
    mutating func abandon() {
        for commit in commits { commit.barrier.finish([commit.unknownOutcome]) }
        (commits, state) = ([], .idle)
    }
}
