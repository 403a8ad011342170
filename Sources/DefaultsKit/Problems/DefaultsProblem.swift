package import DefaultsCore

/// Something that went wrong with preferences: what, where, and what to do about it.
///
/// Calls that can't throw, since Foundation's can't, tell of problems through `UserDefaults.onProblem`.
public struct DefaultsProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// What a problem concerns.
    ///
    /// New matters may be added.
    public struct Matter: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case value, type, edit, file, saving, agent, name, directory, archive }
        private let kind: Kind

        /// A value that no property list can hold; nothing was set.
        public static let value = Matter(kind: .value)
        /// A stored value that isn't of its key's type; the key's default is used, and what is stored stays.
        public static let type = Matter(kind: .type)
        /// An edit that was refused, such as one of a domain that can only be read.
        public static let edit = Matter(kind: .edit)
        /// A file that can't be taken as it is, damaged or unreadable; values stay as they were, or there are none.
        public static let file = Matter(kind: .file)
        /// Edits that aren't durable; they are kept, and saving is tried again.
        public static let saving = Matter(kind: .saving)
        /// The agent, which is done without.
        public static let agent = Matter(kind: .agent)
        /// A name that can't be a domain's.
        public static let name = Matter(kind: .name)
        /// A directory of preferences that can't be read.
        public static let directory = Matter(kind: .directory)
        /// A stored object that can't be had back, or one that can't be archived.
        public static let archive = Matter(kind: .archive)

        /// The matter in a word.
        public var description: String { kind.rawValue }
    }

    /// What it concerns.
    public let matter: Matter
    /// A whole sentence for people: what, where, and the remedy.
    public let description: String
    /// The system's error number, where a system call failed.
    public let errno: Int32?

    package init(_ matter: Matter, _ error: DefaultsError) {
        self.matter = matter
        description = error.description
        errno = error.errno
    }

    /// A problem that no system call told, found by a library above this one.
    package init(_ matter: Matter, describedBy description: String) {
        self.matter = matter
        self.description = description
        errno = nil
    }
}
