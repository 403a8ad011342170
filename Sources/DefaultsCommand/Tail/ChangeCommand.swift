import DefaultsCore
import Glibc

/// A run of the command that `tail --exec` names, for one change.
struct ChangeCommand {
    private let command: String
    private let input: [UInt8]
    private let variables: [String: String?]
    /// What messages call the change.
    private let title: String

    /// The most bytes of keys that are put into the environment, where the kernel takes 128 KiB a variable.
    private static let mostKeys = 64 << 10
    /// The variables that tell of a change; what this process has of them is of another one.
    private static let names = [
        "DEFAULTS_DOMAIN", "DEFAULTS_HOST", "DEFAULTS_KEYS", "DEFAULTS_CURSOR", "DEFAULTS_SOURCE",
        "DEFAULTS_SOURCE_PID", "DEFAULTS_SOURCE_EXECUTABLE",
    ]

    /// Prepares a command for an event; `nil` when it is no change.
    init?(_ command: String, _ event: StreamEvent) {
        let (domain, keys, cursor): (Domain, [String], Cursor)
        var source: Writer?
        switch event {
        case .record(let record, let place):
            guard case .change(let changeSet) = record.event else { return nil }
            (domain, keys, cursor) = (changeSet.domain, changeSet.changes.map(\.key), place)
            source = changeSet.source
        case .initial(let snapshot) where !snapshot.values.isEmpty:
            (domain, keys, cursor) = (snapshot.domain, snapshot.values.keys.sorted(), snapshot.cursor)
        default: return nil
        }
        guard let line = ChangeJSON.line(event) else { return nil }
        self.command = command
        input = Array("\(line)\n".utf8)
        title = "\(domain) at \(cursor)"
        var variables = [
            "DEFAULTS_DOMAIN": domain.name.description, "DEFAULTS_HOST": domain.host.identifier ?? "",
            "DEFAULTS_CURSOR": cursor.description, "DEFAULTS_SOURCE": "",
        ]
        let list = keys.joined(separator: "\n")
        // A list in which some lines are parts of keys would be another list.
        let isOfLines = !keys.contains { $0.utf8.contains { $0 == 0x0A || $0 == 0 } }
        if isOfLines, list.utf8.count <= Self.mostKeys { variables["DEFAULTS_KEYS"] = list }
        switch source {
        case .app(let app)?:
            variables["DEFAULTS_SOURCE"] = "app"
            variables["DEFAULTS_SOURCE_PID"] = "\(app.pid)"
            variables["DEFAULTS_SOURCE_EXECUTABLE"] = app.executable
        case .file?: variables["DEFAULTS_SOURCE"] = "file"
        case .agent?: variables["DEFAULTS_SOURCE"] = "agent"
        case nil: break
        }
        let former = Dictionary(uniqueKeysWithValues: Self.names.map { ($0, String?.none) })
        self.variables = former.merging(variables) { $1 }
    }

    /// Runs the command to its end, and tells when it fails.
    ///
    /// A signal that ends this process ends the command's group first.
    ///
    /// - Parameter end: when to end the command, and its group.
    /// - Returns: false when it was ended for that.
    /// - Throws: when it can't be started.
    func run(until end: ContinuousClock.Instant?) throws(Failure) -> Bool {
        let group = ProgramGroup(
            program: "/bin/sh", arguments: ["sh", "-c", command], variables: variables, input: input)
        switch try group.run(until: end) {
        case .status(0): return true
        case .status(let status): Failure.note(Self.complaint(status, title))
        case .wantedTerminal:
            Failure.note(
                "The command wanted the terminal, which it can't have, and was ended, for the change of \(title).")
        case .timeIsOver: return false
        }
        return true
    }

    private static func complaint(_ status: Int32, _ title: String) -> String {
        let end =
            status > 128
            ? "was ended by signal \(status - 128) (\(String(cString: strsignal(status - 128))))"
            : "ended with status \(status)"
        return "The command \(end), for the change of \(title)."
    }
}
