import Linux

/// An error that says what happened, where, and what to do about it.
///
/// `description` is for people. Programs check `code`, and `errno` where a system call failed.
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

        /// A name that isn't a valid domain name.
        package static let invalidDomainName = Code(.invalidDomainName)
        /// Text that isn't a cursor.
        package static let invalidCursor = Code(.invalidCursor)
        /// A value that can't be stored.
        package static let invalidValue = Code(.invalidValue)
        /// A preferences directory, or one of the agent's directories, that can't be used.
        package static let directory = Code(.directory)
        /// A file that can't be opened or read.
        package static let unreadable = Code(.unreadable)
        /// A file that isn't a property list with a dictionary at its top level.
        package static let damaged = Code(.damaged)
        /// A managed file that is ignored because a user other than root may have written it.
        package static let untrusted = Code(.untrusted)
        /// A directory lock that another process has held too long.
        package static let locked = Code(.locked)
        /// A file that another program has open for writing, or keeps rewriting.
        package static let openForWriting = Code(.openForWriting)
        /// Edits that can't be saved to their file.
        package static let notSaved = Code(.notSaved)
        /// A domain that can't be edited, because it isn't the current user's; or a key that can't be, because the
        /// edit is made in the body of a transaction that uses the key.
        package static let readOnly = Code(.readOnly)
        /// An edit that arrived so late that others have changed the domain since; resend it with the values that it
        /// replaces.
        package static let late = Code(.late)
        /// A conditional edit whose condition doesn't hold, because others have changed the keys since they were read.
        package static let changed = Code(.changed)
        /// A message that violates the protocol.
        package static let protocolViolation = Code(.protocolViolation)
        /// An agent that isn't running or doesn't answer.
        package static let agentUnavailable = Code(.agentUnavailable)
        /// A request that the agent can't or won't fulfill.
        package static let agentRefused = Code(.agentRefused)

        /// The code's name, as used in the protocol's messages.
        package var description: String { kind.rawValue }

        /// Creates a code from its name in a message; fails if the name is unknown.
        package init?(named name: String) {
            guard let kind = Kind(rawValue: name) else { return nil }
            self.init(kind)
        }
    }

    /// The kind of failure.
    package let code: Code
    /// The system's error number, where a system call failed.
    package let errno: Int32?
    /// The sentences that say what happened, and where.
    package let what: String
    /// The sentences that say what to do about it; `nil` if there is no advice.
    package let remedy: String?

    /// The text for people: what happened, where, and what to do about it.
    package var description: String { remedy.map { "\(what) \($0)" } ?? what }

    /// Creates an error from complete sentences.
    package init(_ code: Code, _ what: String, remedy: String? = nil, errno: Int32? = nil) {
        self.code = code
        self.what = what
        self.remedy = remedy
        self.errno = errno
    }

    /// Creates an error from a failed system call, with the system's reason appended to what happened.
    package init(_ code: Code, errno number: Int32, _ what: String, remedy: String? = nil) {
        self.init(code, "\(what): \(SystemCall.message(number)).", remedy: remedy, errno: number)
    }

    /// Returns the error with a sentence after what happened, and perhaps one after its remedy.
    package func adding(_ sentence: String, remedy other: String? = nil) -> DefaultsError {
        let remedies = [remedy, other].compactMap(\.self)
        return DefaultsError(
            code, "\(what) \(sentence)", remedy: remedies.isEmpty ? nil : remedies.joined(separator: " "), errno: errno)
    }
}
