import DefaultsCore
import Linux

/// A client's session: with an agent, or with the process's own store.
///
/// A session is owned by one thread. No call waits for an agent, but a call may wait a few seconds for the directory's
/// lock or for files that other programs have open. `receiveEvents` returns the outcomes of calls, and all other
/// events, in order.
protocol Session: AnyObject {
    /// The system directories, whose domains the session also serves.
    var system: SystemDirectories { get }
    /// The time at which to call `receiveEvents` even if nothing has arrived.
    var deadline: MonotonicTime? { get }

    /// Begins the session with the names that are already followed; called once, before all other methods.
    func begin(_ start: SessionStart) throws(DefaultsError)
    /// Follows the domains with some names, for all hosts and layers.
    ///
    /// Their values arrive first, then their changes. Names that are already followed start over with their values.
    func follow(_ names: [DomainName]) throws(DefaultsError)
    /// Stops following names.
    func leave(_ names: [DomainName]) throws(DefaultsError)
    /// Makes an edit.
    ///
    /// Edits are made in the order of the calls.
    func edit(_ request: EditRequest) throws(DefaultsError)
    /// Makes a conditional edit, after all earlier edits, if the keys have the values that it expects.
    func commit(_ request: EditRequest) throws(DefaultsError)
    /// Saves the edits of some domains, and receives the changes that others made before the call.
    func synchronize(_ domains: [Domain], as number: UInt64) throws(DefaultsError)
    /// Returns the events that have arrived, after performing due work.
    ///
    /// - Throws: The reason why the session has ended.
    func receiveEvents() throws(DefaultsError) -> [SessionEvent]
    /// Hands over the edits quickly, because the process is about to end.
    func handOver() throws(DefaultsError)
}

/// The names with which a session begins.
struct SessionStart {
    /// The cursor up to which changes have arrived; `nil` if none is known.
    var cursor: Cursor?
    /// The names whose changes resume at the cursor.
    var resumed: [DomainName] = []
    /// The names that start with their values.
    var followed: [DomainName] = []
}

/// An event of a session.
enum SessionEvent {
    /// An event of a name's domains.
    case stream(DomainName, StreamEvent)
    /// All changes up to a cursor have arrived, for all names.
    case reached(Cursor)
    /// Changes to a name's domains won't arrive; their values arrive once.
    case unfollowed(DomainName)
    /// An edit was processed, and everything up to it has arrived in the streams.
    case accepted(UInt64)
    /// An edit was refused.
    case refused(UInt64, DefaultsError)
    /// A conditional edit was made, or failed with an error; everything up to it has arrived in the streams.
    case committed(UInt64, DefaultsError?)
    /// A conditional edit of a domain was made, but couldn't be saved yet.
    case unsaved(Domain)
    /// All edits of a domain up to a number are durable.
    case saved(Domain, UInt64)
    /// A `synchronize` has finished; `failures` are the reasons why edits aren't durable.
    case synchronized(UInt64, failures: [DefaultsError])
    /// A failure to report; a failed save is retried.
    case trouble(DefaultsError)
}

/// The delay before a session retries failed saves, and the failures already reported.
///
/// Pure; it has no clock.
struct SaveBackoff {
    private let delays: RetryDelay
    private var failures = 0
    private var reported: Set<DefaultsError> = []

    /// Creates a backoff with an initial delay, which doubles with each failure.
    init(first: Duration) { delays = RetryDelay(first: first, limit: .seconds(60)) }

    /// The delay before the next attempt.
    var delay: Duration { delays.after(failures) }

    /// Updates the delay after an attempt.
    ///
    /// - Parameter failures: The failures of the attempt; an empty array resets the delay.
    /// - Returns: The events that report failures, each once until an attempt succeeds.
    mutating func record(_ failures: [DefaultsError]) -> [SessionEvent] {
        if failures.isEmpty {
            (self.failures, reported) = (0, [])
            return []
        }
        self.failures += 1
        return failures.filter { reported.insert($0).inserted }.map { .trouble($0) }
    }
}
