/// What a subscriber is handed.
package enum SubscriptionEvent: Hashable, Sendable {
    /// A record, or what the filter left of it.
    case record(LogRecord, cursor: Cursor)
    /// What happened between two places is not to be had any more.
    case gap(from: Cursor, to: Cursor)
    /// The values as they are at this place are to be handed out now, before any other event.
    case snapshotDue(at: Cursor)
    /// All up to this place has been handed out.
    case bookmark(Cursor)
    /// The subscription is over, since its subscriber was too slow for its mode.
    case ended
}
