import Glibc
import Synchronization

/// Who is told of problems in this process: whom the program names, else standard error.
enum ProblemHandler {
    /// Held for no call.
    private static let handler = Mutex<(@Sendable (DefaultsProblem) -> Void)?>(nil)

    static func set(_ new: (@Sendable (DefaultsProblem) -> Void)?) {
        handler.withLock { $0 = new }
    }

    static func report(_ problem: DefaultsProblem) {
        if let handler = handler.withLock({ $0 }) {
            handler(problem)
            return
        }
        let line = "UserDefaults: \(problem.description)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
