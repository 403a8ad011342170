/// What went wrong, where, and what to do about it.
///
/// `description` is a whole sentence for people. Programs look at `code`, and at `errno` where a system call failed.
package struct DefaultsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// New kinds may be added.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Hashable {
            case invalidDomainName, invalidCursor, invalidValue
            case directory, unreadable, damaged, untrusted, locked, openForWriting, notSaved, readOnly, late,
                changed
            case protocolViolation, agentUnavailable, agentRefused
        }
        private let kind: Kind
        private init(_ kind: Kind) { self.kind = kind }

        /// A name that can't be a domain's.
        package static let invalidDomainName = Code(.invalidDomainName)
        /// A text that isn't a cursor.
        package static let invalidCursor = Code(.invalidCursor)
        /// A value that can't be stored.
        package static let invalidValue = Code(.invalidValue)
        /// The preferences directory, or the agent's own, can't be used.
        package static let directory = Code(.directory)
        /// A file that can't be opened or read.
        package static let unreadable = Code(.unreadable)
        /// A file that is no property list with a dictionary at its top.
        package static let damaged = Code(.damaged)
        /// A managed file that isn't honoured, since someone else than root can have written it.
        package static let untrusted = Code(.untrusted)
        /// The directory's lock is held by someone else for too long.
        package static let locked = Code(.locked)
        /// A file that another program has open for writing, or keeps rewriting.
        package static let openForWriting = Code(.openForWriting)
        /// Edits that are kept in memory, since their file can't be written.
        package static let notSaved = Code(.notSaved)
        /// A domain that isn't the current user's, and can't be edited.
        package static let readOnly = Code(.readOnly)
        /// An edit that came so late that others have written since; send it again with what it replaces.
        package static let late = Code(.late)
        /// An edit on a condition that doesn't hold: others have set the keys since they were read.
        package static let changed = Code(.changed)
        /// A message that breaks the protocol.
        package static let protocolViolation = Code(.protocolViolation)
        /// No agent answers.
        package static let agentUnavailable = Code(.agentUnavailable)
        /// The agent answered that it can't or won't.
        package static let agentRefused = Code(.agentRefused)

        /// The code's name, as it goes over the wire.
        package var description: String { kind.rawValue }

        /// The code with a name that came over the wire.
        package init?(named name: String) {
            guard let kind = Kind(rawValue: name) else { return nil }
            self.init(kind)
        }
    }

    /// The kind of failure.
    package let code: Code
    /// The system's error number, where a system call failed.
    package let errno: Int32?
    /// A whole sentence: what, where, and the remedy.
    package let description: String

    /// Makes an error from a kind and a sentence.
    package init(_ code: Code, _ description: String, errno: Int32? = nil) {
        self.code = code
        self.errno = errno
        self.description = description
    }

    /// Makes an error from a failed system call, whose reason is added to the sentence.
    package init(_ code: Code, errno number: Int32, _ what: String) {
        self.init(code, "\(what): \(SystemCall.message(number)).", errno: number)
    }
}
