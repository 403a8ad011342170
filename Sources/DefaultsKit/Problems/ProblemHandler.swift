import Dispatch
import Glibc
import Synchronization

/// Who is told of problems in this process: whom the program names, else standard error.
enum ProblemHandler {
    /// Held for no call.
    private static let handler = Mutex<(@Sendable (DefaultsProblem) -> Void)?>(nil)

    /// Where the library's own thread has problems told, in their order, so that whoever is told may wait for that thread.
    private static let queue = DispatchQueue(label: "DefaultsKit.problems")

    static func set(_ new: (@Sendable (DefaultsProblem) -> Void)?) {
        handler.withLock { $0 = new }
    }

    /// Tells of a problem behind the callers' backs, on a thread where nobody waits.
    ///
    /// Standard error is written to at once, since the process may be about to end.
    static func reportElsewhere(_ problem: DefaultsProblem) {
        guard handler.withLock({ $0 != nil }) else { return report(problem) }
        queue.async { report(problem) }
    }

    /// Tells of a problem on the caller's thread.
    static func report(_ problem: DefaultsProblem) {
        if let handler = handler.withLock({ $0 }) {
            handler(problem)
            return
        }
        let line = "UserDefaults: \(problem.description)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
