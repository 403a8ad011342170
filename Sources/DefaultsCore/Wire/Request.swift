/// What a client asks of the agent.
package enum Request: Hashable, Sendable {
    /// The first message: who speaks, and which protocol.
    case hello(protocolVersion: Int64, client: String)
    /// The values of a domain.
    case read(Domain)
    /// The domains that have values or are damaged.
    case domains
    /// Edits, answered when they are in force.
    case edit(EditRequest)
    /// Answered when all edits made before, of some domains or of all, are durable, and all that happened in the directory
    /// before is in the log.
    case synchronize(Set<Domain>?)
    /// Begins a stream of events under this request's number.
    case subscribe(Subscription.Start, SubscriptionFilter, Subscription.Mode)
    /// Adds names to the stream with a request's number; their values come first.
    case widen(UInt64, [DomainName])
    /// Takes names out of the stream with a request's number.
    case narrow(UInt64, [DomainName])
    /// Ends the stream with a request's number.
    case unsubscribe(UInt64)
    /// How the agent does.
    case status
    /// Ends an agent that `defaults tail` has started, so that the one that asks can take its place.
    case handOver

    /// The protocol that this code speaks.
    package static let protocolVersion: Int64 = 1
}

/// A request and its number, which its answers bear.
package struct NumberedRequest: Hashable, Sendable {
    package var number: UInt64
    package var request: Request

    package init(number: UInt64, request: Request) {
        self.number = number
        self.request = request
    }
}
