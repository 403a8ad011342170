#if Fleet
import DefaultsCommand
import DefaultsCore
import Fleet
import Glibc
import Linux

/// The problems of the running connector: each is reported once, on standard error, and kept for `status`.
struct Reporter {
    private struct Problem {
        var message: String
        /// The time from which it is reported.
        var due: MonotonicTime
        var endsByItself: Bool
    }

    private let home: FleetHome
    private var problems: [String: Problem] = [:]
    private var reported: [String: String] = [:]

    /// The time after which a problem is reported that usually ends by itself, in milliseconds.
    private static let delay: Int64 = 60_000

    init(_ home: FleetHome) throws {
        self.home = home
        // Those of an earlier connector may have ended.
        try home.write(problems: [])
    }

    /// Adds a problem that ends the connector's work to those that it has had.
    mutating func add(_ subject: String, _ message: String, endsByItself: Bool) {
        var current = problems.mapValues { ($0.message, $0.endsByItself) }
        current[subject] = (message, endsByItself)
        update(current)
    }

    /// Replaces the problems, and reports those that are new.
    ///
    /// - Parameter current: The sentences by their subjects, and whether each usually ends by itself.
    mutating func update(_ current: [String: (message: String, endsByItself: Bool)]) {
        problems = Dictionary(
            uniqueKeysWithValues: current.map { subject, problem in
                // The message may name another file or member each time.
                let due = problem.endsByItself ? problems[subject]?.due ?? .now() + Self.delay : .now()
                return (subject, Problem(message: problem.message, due: due, endsByItself: problem.endsByItself))
            })
        let due = problems.filter { $1.due <= .now() }.mapValues(\.message)
        guard due != reported else { return }
        for (subject, message) in due.sorted(by: { $0.key < $1.key }) where reported[subject] != message {
            if reported[subject] == nil || problems[subject]?.endsByItself == false { Failure.report(message) }
        }
        reported = due
        // What keeps a connector from starting keeps it from reading, too.
        var messages: [String] = []
        for (_, message) in due.sorted(by: { $0.key < $1.key }) where !messages.contains(message) {
            messages.append(message)
        }
        do throws(DefaultsError) { try home.write(problems: messages) } catch {
            Failure.report("\(error)")
        }
    }
}

extension FleetProblem {
    /// A sentence, and whether the problem usually ends by itself.
    var report: (message: String, endsByItself: Bool) {
        switch self {
        case .file(let machine, let name, .incomplete):
            ("The file \(machine)/\(name) is incomplete or was changed.", true)
        case .file(let machine, _, .otherFleet):
            (
                "The folder also has files of another fleet, of the machine \(machine). If that is one of yours, run "
                    + "`defaults fleet leave` there, and join again. If it has left already, remove the subfolder "
                    + "\(machine).", false
            )
        case .file(let machine, let name, .laterVersion):
            ("The file \(machine)/\(name) was written by a later version. Upgrade defaultsd.", false)
        case .unreadable(let path, let number): ("\(path) can't be read: \(SystemCall.message(number)).", false)
        case .missing(let machine, let number):
            (
                "Files of the machine \(machine) are missing, from number \(number) on, although later ones are there.",
                true
            )
        case .away(let domain, _) where TravelRules.isOwn(domain.description):
            (
                "The file of \(domain) is missing. Its entries still apply, and are written again after a "
                    + "minute, once other preferences are there.", false
            )
        case .away(let domain, let count):
            (
                "The file of \(domain) is missing. If it isn't back within a minute, its "
                    + "\(count.counting("key")) will be removed on all machines.", false
            )
        case .refused(let key, let error):
            ("The fleet's value of \(key.domain) \(key.key) can't be set: \(error)", false)
        }
    }
}
#endif
