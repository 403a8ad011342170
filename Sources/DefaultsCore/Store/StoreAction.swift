/// What is to be done after a transition of `StoreState`, once its lock is let go.
enum StoreAction: Hashable {
    /// A record of a domain was posted: whoever waits at the log's end is to be told.
    case announce(Domain)
    /// Something is wrong with a domain, or isn't any more.
    case tell(LogRecord.Event)
    /// The domain has edits that its file doesn't hold.
    case publish(Domain, StoreUrgency)
}
