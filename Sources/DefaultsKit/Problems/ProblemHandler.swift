import CLinux
import Glibc
import Linux

/// The reporting of problems in this process: to the program's handler, else to standard error.
enum ProblemHandler {
    /// Held for no call.
    private static let handler = ForkSafeMutex<Handler?>(nil)

    /// A closure on its own in a generic type would be wrapped once more, and stored so, by each access.
    private struct Handler {
        let handle: @Sendable (DefaultsProblem) -> Void
    }

    /// The problems of the library's own thread, which another thread reports in order, so that the handler may wait for the
    /// first.
    ///
    /// Not a Dispatch queue: one that counts on an idle thread of the parent never runs in a forked child.
    private static let elsewhere = ForkSafeMutex(Elsewhere())

    private struct Elsewhere {
        private var waiting: [DefaultsProblem] = []
        /// The process with the thread that reports them; 0 when there is no such thread.
        private var teller: pid_t = 0

        /// Adds a problem.
        ///
        /// - Returns: whether a thread must be started to tell it.
        mutating func add(_ problem: DefaultsProblem, in process: pid_t) -> Bool {
            let hasThread = teller == process
            // The parent's problems are reported by the parent.
            if !hasThread { waiting = [] }
            waiting.append(problem)
            teller = process
            return !hasThread
        }

        /// Takes the next problem; `nil` when there is none, which ends the thread.
        mutating func next() -> DefaultsProblem? {
            if !waiting.isEmpty { return waiting.removeFirst() }
            teller = 0
            return nil
        }
    }

    static func set(_ new: (@Sendable (DefaultsProblem) -> Void)?) {
        handler.withLock { $0 = new.map(Handler.init) }
    }

    /// Tells of a problem behind the callers' backs, on a thread where nobody waits.
    ///
    /// Standard error is written to at once, since the process may be about to end.
    static func reportElsewhere(_ problem: DefaultsProblem) {
        guard handler.withLock({ $0 != nil }) else { return report(problem) }
        guard elsewhere.withLock({ $0.add(problem, in: getpid()) }) else { return }
        var thread = pthread_t()
        if linux_start_thread(&thread, { _ in ProblemHandler.reportWaiting() }, nil) == 0 {
            pthread_detach(thread)
        } else {
            while let problem = nextElsewhere() { write(problem) }
        }
    }

    private static func reportWaiting() -> UnsafeMutableRawPointer? {
        while let problem = nextElsewhere() { report(problem) }
        return nil
    }

    private static func nextElsewhere() -> DefaultsProblem? { elsewhere.withLock { $0.next() } }

    /// Tells of a problem on the caller's thread.
    static func report(_ problem: DefaultsProblem) {
        if let handler = handler.withLock({ $0 }) {
            handler.handle(problem)
            return
        }
        write(problem)
    }

    private static func write(_ problem: DefaultsProblem) {
        let line = "UserDefaults: \(problem.description)\n"
        _ = line.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    }
}
