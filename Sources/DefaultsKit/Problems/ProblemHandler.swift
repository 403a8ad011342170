import CLinux
import Glibc

/// Who is told of problems in this process: whom the program names, else standard error.
enum ProblemHandler {
    /// Held for no call.
    private static let handler = ForkSafeMutex<(@Sendable (DefaultsProblem) -> Void)?>(nil)

    /// What the library's own thread has told by another, in this order, so that whoever is told may wait for the first.
    ///
    /// A queue's thread would do, but a forked child has none, and its queues may never know.
    private static let elsewhere = ForkSafeMutex(Elsewhere())

    private struct Elsewhere {
        private var waiting: [DefaultsProblem] = []
        /// The process whose thread tells them, until none is left; 0 when there is no thread.
        private var teller: pid_t = 0

        /// Adds a problem.
        ///
        /// - Returns: whether a thread must be started to tell it.
        mutating func add(_ problem: DefaultsProblem, in process: pid_t) -> Bool {
            let hasThread = teller == process
            // What the parent has yet to tell, it tells.
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
        handler.withLock { $0 = new }
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
            handler(problem)
            return
        }
        write(problem)
    }

    private static func write(_ problem: DefaultsProblem) {
        let line = "UserDefaults: \(problem.description)\n"
        _ = line.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    }
}
