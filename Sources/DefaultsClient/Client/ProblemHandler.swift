import CFork
import CLinux
package import DefaultsCore
import Glibc
import Linux

/// A problem found by the client or by the library above it.
package struct Problem: Hashable, Sendable {
    /// The subject of a problem.
    package enum Kind: String, Sendable {
        case value, type, edit, file, saving, agent, name, directory, archive, cancellation
    }

    package let kind: Kind
    /// A complete sentence for people: what happened, where, and the remedy.
    package let description: String
    /// The system's error number, where a system call failed.
    package let errno: Int32?

    package init(_ kind: Kind, because error: DefaultsError) {
        self.init(kind, describedBy: error.description, errno: error.errno)
    }

    package init(_ kind: Kind, describedBy description: String, errno: Int32? = nil) {
        self.kind = kind
        self.description = description
        self.errno = errno
    }
}

/// The reporting of problems in this process: to the program's handler, or else to standard error.
package enum ProblemHandler {
    /// The program's handler; it is not called under the lock.
    private static let handler = ForkSafeMutex<Callback<Problem, Void>?>(nil)

    /// The handler of the calling task, which takes the place of the program's.
    @TaskLocal package static var scoped: (@Sendable (Problem) -> Void)?

    /// The problems found by the library's own thread, which another thread reports in order.
    ///
    /// The handler may wait for the library's own thread, so that thread can't call the handler. Nor can a Dispatch
    /// queue: if it relies on an idle thread of the parent, it never runs in a forked child.
    private static let elsewhere = ForkSafeMutex(Elsewhere())

    private struct Elsewhere {
        private var unreported: [Problem] = []
        /// The ID of the process whose thread reports them; 0 if there is no such thread.
        private var reporter: pid_t = 0

        /// Adds a problem.
        ///
        /// - Returns: Whether the caller must start a thread to report it.
        mutating func add(_ problem: Problem, in process: pid_t) -> Bool {
            let hasThread = reporter == process
            // The parent reports its own problems.
            if !hasThread { unreported = [] }
            unreported.append(problem)
            reporter = process
            return !hasThread
        }

        /// Removes and returns the next problem; `nil` if none is waiting, and then the thread ends.
        mutating func next() -> Problem? {
            if !unreported.isEmpty { return unreported.removeFirst() }
            reporter = 0
            return nil
        }
    }

    package static func set(_ new: (@Sendable (Problem) -> Void)?) {
        handler.withLock { $0 = new.map(Callback.init) }
    }

    /// Reports a background problem on a thread that nothing waits for.
    ///
    /// Without a handler, it is written to standard error immediately, since the process may be about to end.
    static func reportElsewhere(_ problem: Problem) {
        guard handler.withLock({ $0 != nil }) else { return report(problem) }
        guard elsewhere.withLock({ $0.add(problem, in: getpid()) }) else { return }
        if !DetachedThread.start(reportPending) {
            while let problem = nextElsewhere() { write(problem) }
        }
    }

    private static func reportPending() {
        while let problem = nextElsewhere() { report(problem) }
    }

    private static func nextElsewhere() -> Problem? { elsewhere.withLock { $0.next() } }

    /// Reports a problem on the caller's thread.
    ///
    /// A problem that the handler itself causes goes to standard error. Otherwise, the handler would be called forever.
    package static func report(_ problem: Problem) {
        let (scoped, handler) = (scoped, handler.withLock { $0 })
        guard scoped != nil || handler != nil, !fork_is_reporting() else { return write(problem) }
        fork_set_reporting(true)
        defer { fork_set_reporting(false) }
        OpenTransaction.outside { if let scoped { scoped(problem) } else { handler?(problem) } }
    }

    private static func write(_ problem: Problem) {
        let line = "UserDefaults: \(problem.description)\n"
        _ = line.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    }
}
