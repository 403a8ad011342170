/// What is to be done after a transition of `StoreState`, once its lock is let go.
enum StoreAction: Hashable {
    /// Records were posted: whoever waits at the log's end is to be told.
    case announce
    /// Something is wrong with a domain, or isn't any more.
    case tell(LogRecord.Event)
    /// The domain has edits that its file doesn't hold.
    case publish(Domain, StoreUrgency)
}
