/// What a subscriber is handed.
package enum SubscriptionEvent: Hashable, Sendable {
    /// A record, or what the filter left of it, and the place from which to resume once it has been handled.
    ///
    /// The place is the record's own revision, but in a batch of net changes: there all events but the last bear the place
    /// before the batch, since what they say and what follows reach back alike; the last bears the batch's end. Who
    /// resumes in the middle of a batch gets all of it again.
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
