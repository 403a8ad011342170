import CLinux
import Glibc
import Linux
import PropertyList

/// The identity of a change log and of its file, as an entry of the file.
package struct LogIdentity: Hashable, Sendable {
    /// The last record of another log.
    struct Position: Hashable, Sendable {
        var log: UInt64
        var revision: Revision
    }

    /// A random number, which every version of the file has.
    private(set) var log = UInt64.random(in: 1...UInt64(Int64.max))
    /// The file to which this entry was written; 0 before that.
    var file: UInt64 = 0
    /// The end of the fallback's log, whose records this log has.
    var added: Position?
    /// The number of each session's last edit, which the log may not have, or not anymore.
    ///
    /// A later entry without a file adds to them.
    var sessions: [UInt64: UInt64] = [:]

    /// Returns an entry that adds the numbers of some sessions' edits, and may be copied to another file.
    func adding(_ sessions: [UInt64: UInt64]) -> LogIdentity {
        var identity = self
        (identity.file, identity.sessions) = (0, sessions)
        return identity
    }

    /// Returns a number that distinguishes a file from its copies, even if a copy has its name and times.
    ///
    /// On a file system without stable inode numbers, a file may seem to be a copy at each start. Followers then get a
    /// gap, which is better than to continue the epoch of a restored backup: its cursors would mean other changes.
    static func file(_ file: borrowing FileDescriptor) throws(SystemCall.Failure) -> UInt64 {
        let number = UInt64(try file.status().st_ino)
        let birth = UInt64(bitPattern: linux_birth_time(file.number))
        return ContentHash(Frame.bigEndian(number) + Frame.bigEndian(birth)).value >> 1
    }
}

extension LogIdentity {
    static let type = "identity"

    var fields: DomainValues {
        var fields: DomainValues = ["type": .string(Self.type), "log": .number(log), "file": .number(file)]
        if !sessions.isEmpty {
            fields["sessions"] = .array(sessions.flatMap { [.number($0), .number($1)] })
        }
        if let added { (fields["addedLog"], fields["addedRevision"]) = (.number(added.log), .number(added.revision)) }
        return fields
    }

    init(_ fields: Fields) throws(DefaultsError) {
        log = try fields.unsigned("log")
        file = try fields.unsigned("file")
        let numbers = try fields.numbers("sessions")
        for index in stride(from: 1, to: numbers.count, by: 2) { sessions[numbers[index - 1]] = numbers[index] }
        if fields.values["addedLog"] != nil {
            added = Position(log: try fields.unsigned("addedLog"), revision: try fields.unsigned("addedRevision"))
        }
    }
}
