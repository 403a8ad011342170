/// A message of the agent: an answer to one request, or an event of a subscription.
package enum Message: Sendable {
    /// The answer to `hello`.
    case welcome(protocolVersion: Int64, pid: Int64, directory: String, system: SystemDirectories, cursor: Cursor)
    /// The answer to `read`.
    case values(DomainSnapshot)
    /// The answer to `domains`.
    case domains([Domain])
    /// The answer to `edit`: the position of its record.
    case edited(Cursor)
    /// The answer to `synchronize`: the end of the log, and the errors of what couldn't be made durable.
    case synchronized(Cursor, failures: [DefaultsError])
    /// The answer to `subscribe`: the stream begins after this position.
    case subscribed(Cursor)
    /// The answer to `widen`: the names' values at this position follow, and then a bookmark.
    ///
    /// Events of the names that came before the answer are not after this position.
    case widened(Cursor)
    /// The answer to `narrow`: no event of the names follows.
    case narrowed
    /// The answer to `unsubscribe`: no event of the subscription follows.
    case unsubscribed
    /// The answer to `status`; the keys are those of `defaults status --json`.
    case status(DomainValues)
    /// The answer to `handOver`: the agent saves what is pending, and ends.
    case handingOver
    /// The answer to a request that can't be met; after `protocolViolation`, the connection is closed.
    case failure(DefaultsError)
    /// An event of a subscription.
    case event(StreamEvent)
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
