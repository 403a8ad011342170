import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// The status of an agent that answered, from `defaults status`.
///
/// The agent may be of another version, so every entry may be missing.
struct AgentStatus {
    private let fields: Fields
    private let watch: Fields

    init(_ fields: Fields) {
        self.fields = fields
        watch = Fields((try? fields.dictionary("watch")) ?? [:])
    }

    /// The process ID in this namespace; `nil` if there is none.
    var pid: Int64? { try? fields.integer("pid") }
    var version: String? { try? fields.string("version") }
    var program: String? { try? fields.string("executable") }
    var socketPath: String? { try? fields.string("socket") }
    /// The time since the agent started, in seconds.
    var uptime: Int64? {
        guard case .real(let seconds)? = fields.values["uptime"] else { return nil }
        return Int64(exactly: seconds.rounded(.towardZero))
    }
    /// The way in which the agent detects changes, such as "inotify" or "polling: …".
    var mode: String? { try? watch.string("mode") }
    /// The name of the mode without its reason, which an earlier agent doesn't send separately.
    private var kind: String? {
        (try? watch.string("kind")) ?? mode.map { String($0.prefix { $0 != ":" && $0 != "," }) }
    }
    var usesInotify: Bool { kind == "inotify" }
    var watches: Int64? { try? watch.integer("watches") }
    var overflows: Int64 { (try? watch.integer("overflows")) ?? 0 }
    /// The errors about a directory or the log, rather than a domain.
    var generalErrors: [DefaultsError] {
        errors.filter { $0.values["domain"] == nil }.compactMap { try? DefaultsError($0) }
    }

    private var errors: [Fields] {
        // Earlier agents leave out the code, and nothing but the message is indispensable.
        entries("errors").map { entry in
            var values = entry.values
            if (try? entry.string("code")) == nil { values["code"] = .string("") }
            if (try? entry.string("remedy")) == nil { values["remedy"] = nil }
            if (try? entry.integer("errno")) == nil { values["errno"] = nil }
            return Fields(values)
        }
    }

    private func entries(_ key: String) -> [Fields] {
        ((try? fields.array(key)) ?? []).compactMap { try? Fields($0, of: key) }
    }

    /// Returns the problems of the agent itself, given its process if that is visible.
    func findings(of process: RunningAgent?) -> [Finding] { age(of: process) + watching + domains }

    // MARK: The process

    @FindingList
    private func age(of process: RunningAgent?) -> [Finding] {
        let name = pid.map { "The agent (pid \($0))" } ?? "The agent"
        let remedy = restart(process)
        if let process, process.isReplaced {
            let isThere = access(process.program, X_OK) == 0
            Finding(
                .warning, id: "agent-replaced",
                message: "\(name) runs a program whose file, \(process.program), has since been "
                    + (isThere ? "replaced." : "deleted."),
                remedy: isThere ? remedy : "Install defaultsd again, or stop the agent: run `kill \(process.pid)`.",
                path: process.program)
        }
        if version != Version.current {
            Finding(
                .warning, id: "agent-version",
                message: version.map { "\(name) is version \($0); this command is version \(Version.current)." }
                    ?? "\(name) doesn't report its version; this command is version \(Version.current).",
                remedy: remedy, path: program)
        }
        if let process, case .tail(let parent) = process.origin {
            Finding(
                .note, id: "agent-private",
                message:
                    "\(name) was started by `defaults tail` (pid \(parent)), and ends when that process and all other "
                    + "clients have ended.",
                remedy: "For an agent that keeps running, run `defaultsd`; it takes over.")
        }
    }

    private func restart(_ process: RunningAgent?) -> String {
        guard let pid else { return "Restart the agent where it runs." }
        if process?.isReplaceable == true {
            return "To start the installed version in its place, run `kill -USR2 \(pid)`; nothing is lost."
        }
        if let process, case .unit(let unit) = process.origin { return "Run `systemctl --user restart \(unit)`." }
        return "Stop the agent with `kill \(pid)`, and start the installed one: run `defaultsd`."
    }

    // MARK: Watching

    @FindingList
    private var watching: [Finding] {
        if let mode, !usesInotify {
            let directory = (try? fields.string("directory")) ?? "?"
            let isIntended = ["requested", "fileSystem"].contains(try? watch.string("reason"))
            let isWaiting = kind == "waiting"
            Finding(
                isWaiting ? .problem : isIntended ? .note : .warning,
                id: isWaiting ? "watching-nothing" : "watching-by-polling",
                message: "The agent isn't using inotify to watch \(directory): \(mode).",
                remedy: isWaiting
                    ? Self.remedy(forWaitingFor: directory, reason: try? watch.string("reason"))
                    : isIntended
                        ? "Changes are seen a few seconds later. To see them at once, keep the preferences on a "
                            + "local disk: name a directory there with DEFAULTS_DIRECTORY."
                        : "Fix the cause; `sysctl fs.inotify` shows the limits. To make the agent try inotify "
                            + "again, run `kill -HUP \(pid.map(String.init) ?? "PID")`.",
                path: directory)
        }
        if overflows > 0 {
            Finding(
                .note, id: "inotify-overflow",
                message: "The kernel's inotify queue overflowed \(overflows.counting("time")) since the "
                    + "agent started. The agent then checked every file, so nothing was missed.",
                remedy: "If this happens often, raise fs.inotify.max_queued_events with sysctl.")
        }
    }

    /// Returns what to do about a directory that the agent can't watch.
    private static func remedy(forWaitingFor directory: String, reason: String?) -> String {
        switch reason {
        case "missing"?: "Create the directory, or name another one with --directory."
        case "notADirectory"?: "Move what is at this path, or name another directory with --directory."
        case "unreadable"?: "Make it accessible: run `chmod u+rwx \(directory.quotedForShell)`."
        default: "Create the directory, make it accessible, or name another one with --directory."
        }
    }

    // MARK: Domains

    /// The domains that the agent can't read, and those with edits that it can't save.
    private var domains: [Finding] {
        let pending = entries("pending").compactMap { entry in
            (try? entry.domain()).map { ($0, (try? entry.integer("edits")) ?? 1) }
        }
        let unsaved = Dictionary(pending) { $1 }
        var failing: Set<Domain> = []
        var findings: [Finding] = []
        for error in errors {
            guard let domain = try? error.domain(), let error = try? DefaultsError(error) else { continue }
            failing.insert(domain)
            let path = path(of: domain)
            guard let edits = unsaved[domain] else {
                findings.append(DamagedDomain.finding(of: domain, for: error, agentRuns: true, path: path))
                continue
            }
            let finding = Finding(
                .problem, id: "edits-unsaved",
                error: DefaultsError(
                    error.code, "\(domain.description): \(edits.counting("edit")) can't be saved. \(error.what)",
                    remedy: error.remedy),
                remedy: "Fix the cause, then run `defaults sync`. The edits stay in effect while the agent runs.",
                path: path)
            findings.append(finding)
        }
        findings += pending.filter { !failing.contains($0.0) }.map { domain, edits in
            Finding(
                .note, id: "edits-pending", message: "\(domain.description): \(edits.counting("edit")) not yet saved.",
                remedy: "The agent saves edits after a short delay. To save them now, run `defaults sync`.")
        }
        return findings
    }

    private func path(of domain: Domain) -> String? {
        guard let directory = try? fields.string("directory") else { return nil }
        return ((try? fields.systemDirectories()) ?? .none).path(
            of: domain, besides: PreferencesDirectory(path: directory))
    }
}
