import DefaultsCore
import Glibc

/// A run of the command that `tail --exec` names, for one change.
struct ChangeCommand {
    private let command: String
    private let input: [UInt8]
    private let environment: [String: String]
    /// What messages call the change.
    private let title: String

    /// The most bytes of keys that are put into the environment, where the kernel takes 128 KiB a variable.
    private static let mostKeys = 64 << 10
    /// How long a command that is asked to end may take, before it is made to.
    private static let grace = Duration.seconds(2)

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
        if list.utf8.count <= Self.mostKeys { variables["DEFAULTS_KEYS"] = list }
        switch source {
        case .app(let app)?:
            variables["DEFAULTS_SOURCE"] = "app"
            variables["DEFAULTS_SOURCE_PID"] = "\(app.pid)"
            variables["DEFAULTS_SOURCE_EXECUTABLE"] = app.executable
        case .file?: variables["DEFAULTS_SOURCE"] = "file"
        case .agent?: variables["DEFAULTS_SOURCE"] = "agent"
        case nil: break
        }
        environment = variables
    }

    /// Runs the command to its end, and tells when it fails.
    ///
    /// A signal that ends this process ends the command's group first.
    ///
    /// - Parameter end: when to end the command, and its group.
    /// - Returns: false when it was ended for that.
    /// - Throws: when it can't be started.
    func run(until end: ContinuousClock.Instant?) throws(Failure) -> Bool {
        let signals = try SignalWatch()
        var feed = try CommandInput(input)
        let process = try ChildProcess.start(
            "/bin/sh", ["sh", "-c", command], environment: environment, input: feed.readingNumber, leadsGroup: true)
        feed.closeReader()
        var deadline = end
        var ending: Int32?
        while true {
            if let status = try process.status {
                // A shell has what it starts in the background ignore SIGINT.
                if ending != nil { kill(-process.pid, SIGTERM) }
                if let ending, ending != SIGALRM { signals.end(by: ending) }
                if ending == nil, status != 0 { Failure.note(Self.complaint(status, title)) }
                return ending == nil
            }
            switch signals.wait(for: &feed, until: deadline) {
            case .somethingHappened: break
            case .signal(let number):
                // Whoever asks twice doesn't want to wait.
                kill(-process.pid, ending == nil ? number : SIGKILL)
                ending = number
            case .timeIsOver:
                kill(-process.pid, ending == nil ? SIGTERM : SIGKILL)
                ending = ending ?? SIGALRM
                deadline = .now + Self.grace
            }
        }
    }

    private static func complaint(_ status: Int32, _ title: String) -> String {
        let end =
            status > 128
            ? "was ended by signal \(status - 128) (\(String(cString: strsignal(status - 128))))"
            : "ended with status \(status)"
        return "The command \(end), for the change of \(title)."
    }
}
