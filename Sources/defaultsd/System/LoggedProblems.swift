import Logging

/// The problems that have been logged, so that each is logged once, until it ends or changes.
struct LoggedProblems {
    /// The subject of a problem.
    enum Subject {
        /// The preferences directory, of whose problems only the first is logged until it can be read again.
        case directory
        case systemDirectories, settings, archive, socket, manifests
    }

    private var logged: [Subject: [String]] = [:]

    /// Logs the problems that a subject didn't have before.
    ///
    /// - Parameters:
    ///   - problems: All current problems of the subject.
    ///   - subject: The subject.
    ///   - logger: The log.
    /// - Returns: Whether its earlier problems are all over.
    @discardableResult
    mutating func log(_ problems: [some CustomStringConvertible], of subject: Subject, to logger: Logger) -> Bool {
        let old = logged[subject] ?? []
        mark(problems, of: subject)
        if subject != .directory || old.isEmpty {
            for problem in problems.map(\.description) where !old.contains(problem) { logger.warning("\(problem)") }
        }
        return problems.isEmpty && !old.isEmpty
    }

    /// Marks problems as logged.
    mutating func mark(_ problems: [some CustomStringConvertible], of subject: Subject) {
        logged[subject] = problems.map(\.description)
    }
}
