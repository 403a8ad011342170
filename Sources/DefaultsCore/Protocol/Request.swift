/// A client's request to the agent.
package enum Request: Hashable, Sendable {
    /// Begins the connection, with the protocol's version and the client's name.
    case hello(protocolVersion: Int64, client: String)
    /// Reads the values of a domain.
    case read(Domain)
    /// Lists the domains that have values or are damaged.
    case domains
    /// Edits a domain; answered when the edit is in effect.
    case edit(EditRequest)
    /// Makes all earlier edits of some or all domains durable.
    ///
    /// The answer comes when they are durable, and everything that happened in the directory before the request is in
    /// the log.
    case synchronize(Set<Domain>?)
    /// Begins a stream of events under this request's number.
    case subscribe(Subscription.Start, SubscriptionFilter, Subscription.Mode)
    /// Adds names to the stream with a request's number; their values come first.
    case widen(UInt64, [DomainName])
    /// Removes names from the stream with a request's number.
    case narrow(UInt64, [DomainName])
    /// Ends the stream with a request's number.
    case unsubscribe(UInt64)
    /// Reads the agent's status.
    case status
    /// Ends an agent that `defaults tail` has started, so that the sender can take its place.
    case handOver

    /// The version of the protocol that this code implements.
    package static let protocolVersion: Int64 = 1
}

/// A request with its number, which the answers repeat.
package struct NumberedRequest: Hashable, Sendable {
    package var number: UInt64
    package var request: Request

    package init(number: UInt64, request: Request) {
        self.number = number
        self.request = request
    }
}
