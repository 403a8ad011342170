import DefaultsCore

/// A conditional edit: it is made only if keys hold expected values.
///
/// Its barrier ends with the outcome.
struct Commit: Sendable {
    let domain: Domain
    let values: Difference
    let expected: Difference
    let barrier = Barrier(.durable)

    /// The request, whose identity lets an agent that is sent it twice recognize it.
    func request(_ identity: EditIdentity) -> EditRequest {
        EditRequest(domain: domain, values: values, writer: .app(.current), identity: identity, expecting: expected)
    }

    /// The error of an edit whose condition doesn't hold.
    var refutation: DefaultsError {
        Store.refutation(of: domain)
    }

    /// The error of an edit whose answer was lost together with the agent's log.
    var loss: DefaultsError {
        DefaultsError(
            .agentUnavailable,
            "The agent ended or stopped responding before it confirmed an edit of \(domain). The edit may have been made, "
                + "or may still be. Read the value before you try again.")
    }
}
