import CFork
import Glibc
import Linux
package import PropertyList

/// A change to one key that the file doesn't hold yet.
package struct Edit: Hashable, Sendable {
    /// The new value; `nil` to remove the key.
    package var value: PropertyListValue?
    /// The time of the edit.
    package var time: Timestamp
    /// The writer that made the edit.
    package var writer: Writer
    /// The edit's position in the order of apps' edits, starting at 1; `unordered` for an edit made by a merge.
    package var sequence: UInt64
    /// The identity of the app's edit, unless that was conditional: only other edits are sent to the next store again.
    package var identity: EditIdentity?
    /// The part of the edit that the log holds.
    package var inLog = LoggedPart.allowedPart
    /// The unsaved edit of the key that this one replaced, if the log holds only that one; no others.
    var former: [Edit] = []

    /// The part of an edit that the log holds, from which the next agent would restore it.
    package enum LoggedPart: Hashable, Sendable {
        /// All of it, unless its key is excluded from the history.
        case allowedPart
        /// All of it until it is saved, because its key was excluded later. The revision is that of its change set.
        case all(Revision)
        /// Nothing, since a key of the same change set, which has this revision, is excluded.
        ///
        /// If the agent is killed before it saves the edit, the edit is lost as a whole.
        case nothing(Revision)
    }

    /// The revision of the edit's change set, if the edit is lost with the agent.
    var lostWithAgent: Revision? { if case .nothing(let revision) = inLog { revision } else { nil } }

    /// The revision of the edit's change set, if the log will have only a part of it once the edit is saved.
    var partlyLogged: Revision? { if case .all(let revision) = inLog { revision } else { lostWithAgent } }

    /// Whether the log holds the edit although its key is excluded.
    var isHeld: Bool { if case .all = inLog { true } else { false } }

    /// The sequence number of an edit made by a merge; it precedes all apps' edits, so that every save includes the
    /// edit.
    package static let unordered: UInt64 = 0

    package init(
        value: PropertyListValue?, time: Timestamp, writer: Writer, sequence: UInt64, identity: EditIdentity? = nil
    ) {
        self.value = value
        self.time = time
        self.writer = writer
        self.sequence = sequence
        self.identity = identity
    }
}

/// The originator of a change.
package enum Writer: Hashable, Sendable {
    /// An app, the command or a test, writing through the agent or an embedded store.
    case app(AppIdentity)
    /// The foreign writer that wrote the file.
    case file
    /// The agent, restoring a value that a foreign writer overwrote because it had loaded an older version.
    case agent
}

/// The identity of an edit, which prevents an edit that is resent after a lost connection from being applied twice.
package struct EditIdentity: Hashable, Sendable {
    /// A random number that identifies the client's session.
    package var session: UInt64
    /// The edit's position in the order of the session's edits, starting at 1.
    package var number: UInt64

    package init(session: UInt64, number: UInt64) {
        self.session = session
        self.number = number
    }
}

extension [EditIdentity] {
    /// Returns whether an edit is the last one of its session here, or an earlier one.
    func include(_ edit: Edit) -> Bool {
        guard let identity = edit.identity else { return false }
        return contains { $0.session == identity.session && $0.number >= identity.number }
    }
}

/// A process that edits or subscribes.
package struct AppIdentity: Hashable, Sendable {
    /// The process ID at the time of the connection.
    package var pid: Int32
    /// The path of the executable; empty if it is unknown.
    package var executable: String

    package init(pid: Int32, executable: String) {
        self.pid = pid
        self.executable = executable
    }

    /// Creates the identity of a running process.
    package init(pid: Int32) {
        let target = SystemCall.target(ofLink: "/proc/\(pid)/exe") ?? []
        self.init(pid: pid, executable: String(decoding: target, as: UTF8.self))
    }

    /// This process.
    package static var current: AppIdentity { AppIdentity(pid: fork_pid(), executable: executableOfCurrent) }

    /// The path of this process's executable, which is the same in a forked child.
    private static let executableOfCurrent = AppIdentity(pid: getpid()).executable
}

/// The values that keys had before an edit, `nil` for none.
///
/// A key's first value is the one that the edit replaced. Any values that the same process has set in the meantime
/// follow: if the file holds one of these, no other writer has changed the key. A missing key had no value.
package typealias FormerValues = [String: [PropertyListValue?]]
