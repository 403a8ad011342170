/// A client's request to the agent.
package enum Request: Hashable, Sendable {
    /// Opens a connection, with the versions of the protocol that the client speaks, its name, and the version of its
    /// library, if it has one.
    case hello(versions: ClosedRange<Int64>, client: String, version: String?)
    /// Reads the values of a domain, or those of some keys. An agent that doesn't know of keys sends all values.
    case read(Domain, keys: [String]? = nil)
    /// Lists the domains that have values or are damaged.
    case domains
    /// Edits a domain; the answer comes when the edit is in effect.
    case edit(EditRequest)
    /// Makes all earlier edits durable, in the given domains or, if `nil`, in all.
    ///
    /// The answer comes when the edits are durable, and the log has everything that happened before the request to the
    /// files of these domains, for any host and user.
    case synchronize(Set<Domain>?)
    /// Begins a stream of events, which is identified by this request's number.
    case subscribe(Subscription.Start, SubscriptionFilter, Subscription.Mode)
    /// Adds domain names to the stream with the given number; the values of their domains come first.
    case widen(UInt64, [DomainName])
    /// Removes domain names from the stream with the given number.
    case narrow(UInt64, [DomainName])
    /// Ends the stream with the given number.
    case unsubscribe(UInt64)
    /// Reads a part of the change log, newest first.
    case history(HistoryRequest)
    /// Reads the agent's status.
    case status
    /// Ends an agent that `defaults tail` has started, so that the sender can replace it.
    case handOver

    /// The versions of the protocol that this code speaks.
    ///
    /// Version 2 added `origin` and `history`.
    package static let protocolVersions: ClosedRange<Int64> = 1...2

    /// The greeting of this process.
    package static var greeting: Request {
        .hello(versions: protocolVersions, client: AppIdentity.current.executable, version: Version.current)
    }
}

/// A request with its number, which the answer and events repeat.
package struct NumberedRequest: Hashable, Sendable {
    package var number: UInt64
    package var request: Request

    package init(number: UInt64, request: Request) {
        self.number = number
        self.request = request
    }
}
