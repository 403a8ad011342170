#if !OVER_FOUNDATION
import DefaultsClient
#endif

/// A problem with preferences: what happened, where, and what to do about it.
///
/// Calls that can't throw, because Foundation's can't, report problems to the handler of
/// `UserDefaults.setProblemHandler(_:)`.
public struct DefaultsProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a problem.
    ///
    /// New codes may be added, so a `switch` needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        let kind: Problem.Kind

        /// A value that no property list can hold, or that its key or an enforced manifest doesn't allow; it isn't set.
        public static let value = Code(kind: .value)
        /// A stored value that doesn't have its key's type; the key's default is used, and the stored value stays.
        public static let type = Code(kind: .type)
        /// An edit that was refused, such as an edit of a read-only domain.
        public static let edit = Code(kind: .edit)
        /// A file that is damaged or unreadable; the values stay as they were, or there are none.
        public static let file = Code(kind: .file)
        /// Edits that aren't durable yet; they stay in effect, and saving is retried.
        public static let saving = Code(kind: .saving)
        /// An agent that isn't available; the process continues without it.
        public static let agent = Code(kind: .agent)
        /// A name that can't be a domain's, or a key that is used together with keys of another domain.
        public static let name = Code(kind: .name)
        /// A preferences directory that can't be read.
        public static let directory = Code(kind: .directory)
        /// An object that can't be archived, or a stored one that can't be unarchived.
        public static let archive = Code(kind: .archive)

        /// A wait that ended because its task was canceled; the edits are saved anyway.
        public static let cancellation = Code(kind: .cancellation)

        /// The code as a single word.
        public var description: String { kind.rawValue }
    }

    /// The kind of the problem.
    public let code: Code
    /// A complete sentence for people: what happened, where, and the remedy.
    public let description: String
    /// The system's error number, if a system call failed.
    public let errno: Int32?

    /// Creates the problem of a value that can't be stored.
    init(_ error: UnstorableValue, forKey key: String) {
        self.init(.value, describedBy: error.sentence(forKey: key))
    }

    /// Creates a problem, found by a library above this one, that has no error number.
    package init(_ code: Code, describedBy description: String) {
        self.init(Problem(code.kind, describedBy: description))
    }

    init(_ problem: Problem) {
        code = Code(kind: problem.kind)
        description = problem.description
        errno = problem.errno
    }
}

extension ProblemHandler {
    /// Reports a problem on the caller's thread.
    package static func report(_ problem: DefaultsProblem) {
        report(Problem(problem.code.kind, describedBy: problem.description, errno: problem.errno))
    }
}

extension UserDefaults {
    /// Sets the handler for problems that calls can't throw, which otherwise go to standard error.
    ///
    /// The process has one handler; a new handler replaces it, and `nil` restores standard error. The handler is called
    /// with no lock held, and may read and write defaults. A problem that the handler itself causes goes to standard
    /// error. A refused call reports its problem on the calling thread, before it returns. Background problems, such as
    /// a file that can't be saved, are reported soon after they occur, one at a time and in order, on a thread of the
    /// library.
    ///
    /// ```swift
    /// UserDefaults.setProblemHandler { problem in logger.warning("\(problem)") }
    /// ```
    public static func setProblemHandler(_ handler: (@Sendable (DefaultsProblem) -> Void)?) {
        guard let handler else { return ProblemHandler.set(nil) }
        ProblemHandler.set { problem in handler(DefaultsProblem(problem)) }
    }

    /// Reports a problem found by a library above this one, on the caller's thread.
    package static func report(_ problem: DefaultsProblem) { ProblemHandler.report(problem) }
}
