import CLinux
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
    /// The edit's position in the order of apps' edits, starting at 1; `unordered` for an edit that a merge made.
    package var sequence: UInt64

    /// The sequence number of an edit that a merge made: before every app's edit, so that each save includes it.
    package static let unordered: UInt64 = 0

    package init(value: PropertyListValue?, time: Timestamp, writer: Writer, sequence: UInt64) {
        self.value = value
        self.time = time
        self.writer = writer
        self.sequence = sequence
    }
}

/// The originator of a change.
package enum Writer: Hashable, Sendable {
    /// An app, the command or a test, through the agent or an embedded store.
    case app(AppIdentity)
    /// The foreign writer that wrote the file.
    case file
    /// The agent, which restores a value that a foreign writer overwrote because it had loaded an older version.
    case agent
}

/// The identity of an edit, which keeps one that is sent again after a lost connection from being applied twice.
package struct EditIdentity: Hashable, Sendable {
    /// A random number that identifies the process while it runs.
    package var session: UInt64
    /// The edit's position in the order of the session's edits, starting at 1.
    package var number: UInt64

    package init(session: UInt64, number: UInt64) {
        self.session = session
        self.number = number
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
    package static var current: AppIdentity { AppIdentity(pid: linux_pid(), executable: executableOfCurrent) }

    /// The path of this process's executable, which is the same in a forked child.
    private static let executableOfCurrent = AppIdentity(pid: getpid()).executable
}

/// The values that keys had before an edit, `nil` for none.
///
/// A key's first value is the one that the edit replaced. The values that earlier edits of the same process gave it in
/// the meantime follow: a file that holds one of them has no other writer's change to the key. A key that is missing
/// had no value.
package typealias FormerValues = [String: [PropertyListValue?]]
