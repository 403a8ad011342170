/// An observer of a store, such as the agent, which has timers and subscribers.
///
/// All methods are called on the thread that changed the store. That thread may hold the locks for saves and for a
/// file, so an observer must not call a method of the store that reads from the disk or waits for it.
package protocol StoreObserver: AnyObject, Sendable {
    /// Handles a newly published record of a domain.
    func storePublished(in domain: Domain)
    /// Handles a domain's edits that must be saved.
    func storeNeedsSaving(_ domain: Domain, urgency timing: SaveTiming)
    /// Handles a domain's problem, or its end; each is reported once.
    func storeReported(_ event: LogRecord.Event)
    /// Handles a failure to write the change log file, which isn't written until `Store.maintainJournal` succeeds.
    func storeLostLog(_ error: DefaultsError)
    /// Requests that `Store.maintainJournal` be called soon, on a thread that may wait for the disk.
    func storeNeedsMaintenance()
    /// Handles a new backup copy, given by its path, of contents that couldn't be merged or will be replaced.
    func storeMadeCopy(_ copy: String)
}

/// The urgency of a save.
package enum SaveTiming: Hashable, Sendable {
    /// After a short delay, together with the edits that follow.
    case delayed
    /// Immediately, because the file lacks values in effect: a foreign writer overwrote them, or saving was blocked.
    case immediate
}

/// A side effect requested by a `StoreState` transition, performed after the lock is released.
enum StoreAction: Hashable {
    /// Notifies the observer that a record of a domain was published.
    case published(Domain)
    /// Reports a domain's problem, or its end.
    case report(LogRecord.Event)
    /// Requests a save of the domain's pending edits.
    case save(Domain, SaveTiming)
}
