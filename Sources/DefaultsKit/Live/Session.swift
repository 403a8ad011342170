import DefaultsCore
import Glibc

/// What serves a process's domains for a while: an agent, or a store of the process's own.
///
/// Owned by one thread. No call waits for an agent, and none for longer than a second or a few for files that others hold open,
/// or for the directory's lock. What comes of them, and what happens otherwise, is had by `take`, in order.
protocol Session: AnyObject {
    /// The layers below the user's own that are served, too.
    var system: SystemDirectories { get }
    /// What to wait for with `poll`, if there is something.
    var awaited: pollfd { get }
    /// When to call `take` even if nothing has come.
    var deadline: MonotonicTime? { get }
    /// Whether someone waits for changes, and is to learn when none can come any more.
    var isObserved: Bool { get set }

    /// Begins with the names that are followed already; the first call after the session has begun, and the only one.
    func begin(_ start: SessionStart) throws(DefaultsError)
    /// Follows the domains of names, of all hosts and layers: their values come first.
    ///
    /// Those that are followed already begin again.
    func follow(_ names: [DomainName]) throws(DefaultsError)
    /// Follows names no more.
    func leave(_ names: [DomainName]) throws(DefaultsError)
    /// Makes an edit.
    ///
    /// Edits are made in the order of the calls.
    func edit(_ request: EditRequest) throws(DefaultsError)
    /// Makes an edit, after all earlier ones, if keys hold the values that it expects.
    func commit(_ request: EditRequest) throws(DefaultsError)
    /// Makes edits durable, and takes in what others did before.
    func synchronize(_ domains: [Domain], _ number: UInt64) throws(DefaultsError)
    /// Has the files looked at, if nobody watches them.
    func look() throws(DefaultsError)
    /// Takes what has come, and does what is due.
    ///
    /// - Throws: when the session is over.
    func take() throws(DefaultsError) -> [SessionEvent]
    /// Makes haste with edits, since the process ends.
    func handOver() throws(DefaultsError)
    /// Brings to its end what can't be left under way.
    func end()
}

extension Session {
    var isObserved: Bool {
        get { false }
        set {}
    }
}

/// The names with which a session begins.
struct SessionStart {
    /// The place up to which changes have come; `nil` if none is known.
    var place: Cursor?
    /// The names whose changes are to go on from there.
    var resumed: [DomainName] = []
    /// The names whose values are to come first.
    var followed: [DomainName] = []
}

/// What comes of a session.
enum SessionEvent {
    /// An event of a name's domains.
    case stream(DomainName, StreamEvent)
    /// The changes of all names up to a place have come.
    case reached(Cursor)
    /// The changes of a name won't come; its values come once.
    case unfollowed(DomainName)
    /// An edit has been dealt with: everything up to there has come by the streams.
    case accepted(UInt64)
    /// An edit was refused.
    case refused(UInt64, DefaultsError)
    /// A conditional edit was made, or wasn't for a reason; everything up to there has come by the streams.
    case committed(UInt64, DefaultsError?)
    /// A conditional edit of a domain was made, and couldn't be saved yet.
    case unsaved(Domain)
    /// All edits of a domain up to a number are durable.
    case saved(Domain, UInt64)
    /// A `synchronize` is done; `failures` say what could not be made durable.
    case synchronized(UInt64, failures: [DefaultsError])
    /// Something went wrong which is tried again.
    case trouble(DefaultsError)
}
