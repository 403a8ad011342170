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
    ///
    /// - Parameter name: A function that returns the name of a machine.
    /// - Returns: Both.
    func report(of name: (MachineID) -> String) -> (message: String, endsByItself: Bool) {
        switch self {
        case .file(let machine, let file, .incomplete):
            (
                "The file \(machine)/\(file) of \(name(machine)) is incomplete or was changed. If your tool has "
                    + "brought it whole, that machine replaces it while it runs, and others have its edits.", true
            )
        case .file(let machine, _, .otherFleet):
            (
                "The folder also has files of another fleet, of the machine \(machine). If that is one of yours, run "
                    + "`defaults fleet leave` there, and join again. If it has left already, remove the subfolder "
                    + "\(machine).", false
            )
        case .file(let machine, let file, .otherVersion):
            (
                "The file \(machine)/\(file) of \(name(machine)) was written by another version. Upgrade defaultsd on "
                    + "all machines. If that machine has left, remove the subfolder \(machine).", false
            )
        case .unreadable(let path, let number): ("\(path) can't be read: \(SystemCall.message(number)).", false)
        case .missing(let machine, let number):
            (
                "Files of \(name(machine)) (\(machine)) are missing, from number \(number) on. Once a machine that has "
                    + "them runs, it sends what is in them. If none has them, remove the subfolder \(machine), and "
                    + "those of other machines that are lost.", true
            )
        case .variant(let machine, let file):
            (
                "A tool has put \(machine)/\(file) in the place of a file of \(name(machine)), perhaps until it brings "
                    + "it. Let it bring the whole folder: with Nextcloud, Dropbox or iCloud, make the folder always "
                    + "available on this device.", true
            )
        case .ownFiles:
            ("Files of this machine in the folder were lost or damaged. A snapshot will replace them.", true)
        case .copied(let machine):
            (
                "Two different files of \(name(machine)) (\(machine)) have one number: its state was restored from a "
                    + "backup, or copied. The edits in both count, and are sent to all machines.", false
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
