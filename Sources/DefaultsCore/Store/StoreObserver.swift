/// Who is told what a store wants: the agent, which has timers and subscribers.
///
/// All methods are called on the thread that changed the store. They may call what doesn't read from the disk nor wait
/// for it: files may be in this thread's hand.
package protocol StoreObserver: AnyObject, Sendable {
    /// A record of a domain was posted.
    func storePosted(in domain: Domain)
    /// A domain has edits to be published.
    func storeNeedsPublishing(_ domain: Domain, _ urgency: StoreUrgency)
    /// Something is wrong with a domain, or isn't any more: each is told once.
    func storeTold(_ event: LogRecord.Event)
    /// The change log's file can't be kept up; it is given up until `Store.keepLogAgain` succeeds.
    func storeLostLog(_ error: DefaultsError)
    /// What could not be taken from a file was kept beside it, under this path.
    func storeKept(_ copy: String)
}

/// How soon edits are to be published.
package enum StoreUrgency: Hashable, Sendable {
    /// A little later, together with those that follow.
    case soon
    /// At once: other readers miss in the file what its last writer has overwritten.
    case atOnce
}
