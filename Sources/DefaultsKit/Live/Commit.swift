import DefaultsCore

/// An edit on the condition that keys hold what it expects, and the wait for its outcome.
struct Commit: Sendable {
    let domain: Domain
    let values: Difference
    let expected: Difference
    let barrier = Barrier(.durable)

    /// The request, by which an agent that is asked twice knows that it has made the edit.
    func request(_ identity: EditIdentity) -> EditRequest {
        EditRequest(domain: domain, values: values, writer: .app(.current), identity: identity, expecting: expected)
    }

    /// The error of an edit whose condition doesn't hold.
    var refutation: DefaultsError {
        DefaultsError(.changed, "\(domain) was changed by someone else meanwhile; read it again, and try again.")
    }

    /// The error of an edit whose answer was lost together with the agent's log.
    var loss: DefaultsError {
        DefaultsError(
            .agentUnavailable,
            "The agent ended before it confirmed an edit of \(domain), which may have been made. Read it before you try again."
        )
    }
}
