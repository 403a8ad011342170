import DefaultsCore
import Glibc
import Linux
import PropertyList

/// A run of the `tail --exec` command for one change set.
struct ChangeCommand {
    private let command: String
    private let input: [UInt8]
    private let variables: [String: String?]
    /// The description of the change in messages.
    private let title: String

    /// The maximum size of a variable, in bytes; the kernel's limit is 128 KiB.
    private static let maximumBytes = 64 << 10
    /// The variables that describe a change.
    ///
    /// Variables without a value are removed, because this process may have inherited them from another `tail --exec`.
    private static let names = [
        "DEFAULTS_DOMAIN", "DEFAULTS_HOST", "DEFAULTS_KEYS", "DEFAULTS_VALUE", "DEFAULTS_CURSOR", "DEFAULTS_SOURCE",
        "DEFAULTS_SOURCE_PID", "DEFAULTS_SOURCE_EXECUTABLE",
    ]

    /// Prepares a command for an event; fails if the event is not a change.
    init?(_ command: String, _ event: StreamEvent) {
        let (domain, values, cursor): (Domain, Difference, Cursor)
        var source: Writer?
        switch event {
        case .record(let record, let position):
            guard case .change(let changeSet) = record.event else { return nil }
            values = Dictionary(changeSet.changes.map { ($0.key, $0.new) }) { $1 }
            (domain, cursor) = (changeSet.domain, position)
            source = changeSet.source
        case .initial(let snapshot) where !snapshot.values.isEmpty:
            (domain, values, cursor) = (snapshot.domain, snapshot.values.mapValues { $0 }, snapshot.cursor)
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
        // A key with a line break would read as two keys.
        if !values.keys.contains(where: { $0.utf8.contains(0x0A) }) {
            variables["DEFAULTS_KEYS"] = Self.variable(values.keys.sorted().joined(separator: "\n"))
        }
        if values.count == 1, let value = values.values.first ?? nil {
            variables["DEFAULTS_VALUE"] = (try? ValueOutput().text(value)).flatMap(Self.variable)
        }
        variables["PATH"] = Self.searchPath
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

    /// Returns a text that an environment variable can hold; `nil` if it is too long or contains NUL.
    private static func variable(_ text: String) -> String? {
        text.utf8.count <= maximumBytes && !text.utf8.contains(0) ? text : nil
    }

    /// The PATH, preceded by this program's directory if it lacks that, so that a command finds this `defaults` even if
    /// it isn't installed.
    private static let searchPath: String = {
        let own = Path.directory(of: AppIdentity.current.executable)
        let given = Environment.current["PATH"] ?? ""
        let path = given.isEmpty ? "/usr/local/bin:/usr/bin:/bin" : given
        let isThere = path.split(separator: ":").contains { $0 == own }
        return isThere || !Path.isAbsolute(own) ? path : "\(own):\(path)"
    }()

    /// Runs the command to completion, and reports a failure on standard error.
    ///
    /// A signal that ends this process ends the command's group first.
    ///
    /// - Parameter end: The deadline, at which the command and its group are ended.
    /// - Returns: False if the deadline passed.
    /// - Throws: If the command can't be started.
    func run(until end: ContinuousClock.Instant?) throws(Failure) -> Bool {
        let group = ProgramGroup(
            program: "/bin/sh", arguments: ["sh", "-c", command], variables: variables, input: input)
        switch try group.run(until: end) {
        case .status(0): return true
        case .status(let status): Failure.report(Self.complaint(status, title))
        case .wantedTerminal:
            Failure.report(
                "The command for the change of \(title) was killed because it tried to use the terminal.")
        case .timeIsOver: return false
        }
        return true
    }

    private static func complaint(_ status: Int32, _ title: String) -> String {
        let end =
            status > 128
            ? "was killed by signal \(status - 128) (\(String(cString: strsignal(status - 128))))"
            : "exited with status \(status)"
        return "The command for the change of \(title) \(end)."
    }
}
