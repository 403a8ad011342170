/// What the agent sends: answers, each to one request, and events, any number to a subscription.
package enum Message: Sendable {
    /// The answer to `hello`.
    case welcome(protocolVersion: Int64, pid: Int64, directory: String, system: SystemDirectories, cursor: Cursor)
    /// The answer to `read`.
    case values(DomainSnapshot)
    /// The answer to `domains`.
    case domains([Domain])
    /// The answer to `edit`: the revision of its record.
    case edited(Cursor)
    /// The answer to `synchronize`: where the log ends now, and what couldn't be made durable.
    case synchronized(Cursor, failures: [DefaultsError])
    /// The answer to `subscribe`: the stream begins after this place.
    case subscribed(Cursor)
    /// The answer to `widen`: the names' values follow, as they are at this place, and a bookmark; no event of theirs that
    /// came before it is after the place.
    case widened(Cursor)
    /// The answer to `narrow`: no event of the names follows.
    case narrowed
    /// The answer to `unsubscribe`: no event of the subscription follows.
    case unsubscribed
    /// The answer to `status`; the keys are those of `defaults status --json`.
    case status(DomainValues)
    /// The answer to `handOver`: the agent saves what is pending, and ends.
    case handingOver
    /// The answer to a request that can't be met. After `protocolViolation` the connection is closed.
    case failure(DefaultsError)
    /// A subscription's event.
    case event(StreamEvent)
}

/// An event as a subscriber sees it.
package enum StreamEvent: Sendable {
    /// A record, or what the filter left of it; `cursor` is the place after it.
    case record(LogRecord, cursor: Cursor)
    /// A domain's values at the place where the stream goes on.
    case initial(DomainSnapshot)
    /// What happened between two places is not to be had any more; the values follow, if the mode says so.
    case gap(from: Cursor, to: Cursor)
    /// All up to this place has been sent.
    case bookmark(Cursor)
    /// No event follows: the subscriber was too slow for its mode.
    case ended
}

/// A message with the number of the request that it answers.
package struct NumberedMessage: Sendable {
    package var number: UInt64
    package var message: Message

    package init(number: UInt64, message: Message) {
        self.number = number
        self.message = message
    }
}
