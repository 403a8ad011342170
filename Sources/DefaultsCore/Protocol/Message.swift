/// A message from the agent: the answer to a request, or an event of a subscription.
package enum Message: Sendable {
    /// The answer to `hello`.
    case welcome(Welcome)
    /// The answer to `read`.
    case values(DomainSnapshot)
    /// The answer to `domains`.
    case domains([Domain])
    /// The answer to `edit`: the position of the edit's record.
    case edited(Cursor)
    /// The answer to `synchronize`: the end of the log, and the errors of edits that couldn't be made durable.
    case synchronized(Cursor, failures: [DefaultsError])
    /// The answer to `subscribe`: the stream begins after this position.
    case subscribed(Cursor)
    /// The answer to `widen`: the values of the names' domains at this position follow, and then a bookmark.
    ///
    /// Events about these domains that arrived before the answer aren't after this position.
    case widened(Cursor)
    /// The answer to `narrow`: no more events about the names' domains follow.
    case narrowed
    /// The answer to `unsubscribe`: no more events of the subscription follow.
    case unsubscribed
    /// The answer to `history`.
    case history(HistoryPage)
    /// The answer to `status`; the keys are those of `defaults status --json`.
    case status(DomainValues)
    /// The answer to `handOver`: the agent saves pending edits and exits.
    case handingOver
    /// The answer to a request that can't be fulfilled; under the number 0, the connection is closed.
    case failure(DefaultsError)
    /// An event of a subscription.
    case event(StreamEvent)
}

/// The agent's description of itself.
package struct Welcome: Sendable {
    /// The version of the protocol that the connection uses, which is the newest that both sides speak.
    package var protocolVersion: Int64
    /// The version of the agent's program; `nil` if the agent is older than 0.2.0.
    package var version: String? = Version.current
    package var pid: Int64
    package var directory: String
    /// The system directories that the agent watches.
    package var system: SystemDirectories
    package var cursor: Cursor

    package init(
        pid: Int64, directory: String, system: SystemDirectories, cursor: Cursor,
        protocolVersion: Int64 = Request.protocolVersions.upperBound
    ) {
        self.protocolVersion = protocolVersion
        self.pid = pid
        self.directory = directory
        self.system = system
        self.cursor = cursor
    }
}

/// A message with the number of the request that it belongs to.
package struct NumberedMessage: Sendable {
    package var number: UInt64
    package var message: Message

    package init(number: UInt64, message: Message) {
        self.number = number
        self.message = message
    }
}
