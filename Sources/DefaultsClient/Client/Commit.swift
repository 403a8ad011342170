import DefaultsCore

/// A conditional edit, which is made only if keys have their expected values.
///
/// Its barrier finishes with the outcome.
struct Commit: Sendable {
    let domain: Domain
    let values: Difference
    let expected: Difference
    let barrier = Barrier(.durable)

    /// Returns the request, whose identity lets an agent that receives it twice recognize it.
    func request(_ identity: EditIdentity) -> EditRequest {
        EditRequest(domain: domain, values: values, writer: .app(.current), identity: identity, expecting: expected)
    }

    /// The error of an edit whose condition doesn't hold.
    var conditionError: DefaultsError {
        Store.conditionError(of: domain)
    }

    /// The error of an edit whose outcome is unknown, because the answer was lost together with the agent's log.
    var loss: DefaultsError {
        DefaultsError(
            .agentUnavailable,
            "The agent ended or stopped responding before it confirmed an edit of \(domain). The edit may have been "
                + "made, or may still be made. Read the value before you try again.")
    }
}
