import DefaultsCore

/// The output of `defaults doctor`.
extension Examination {
    /// Returns the report as text: a few lines about the current state, the findings, and a summary.
    func text(_ style: ChangeText) -> String {
        let findings = self.findings.map { $0.text(style) }.joined()
        let summary = style.colored(self.findings.summary, in: self.findings.needAttention ? .bold : .green)
        return head + "\n" + findings + (findings.isEmpty ? "" : "\n") + summary + "\n"
    }

    private var head: String {
        let status = agent?.status
        let lines: [(String, String)] = [
            ("command", "version \(Version.current), \(programs.command)"),
            ("agent", status.map(description) ?? (agent?.isThere == true ? "not responding" : "none")),
            ("program", status?.program ?? programs.agent ?? "not installed"),
            (
                "directory",
                location.directory.map { "\($0.path) (\(location.directorySource.description))" } ?? "unknown"
            ),
            (
                "socket",
                location.address.map {
                    "\(status?.socketPath ?? $0.socketPath) (\(location.socketSource.description))"
                } ?? "unknown"
            ),
            ("file system", fileSystem?.text ?? "unknown"),
            ("watching", status.map(watching) ?? (agent?.isThere == true ? "unknown" : "no")),
        ]
        return lines.map { title, value in
            title.padded(to: 13) + value.printable + "\n"
        }.joined()
    }

    private func description(_ status: AgentStatus) -> String {
        let pid = status.pid.map { "pid \($0)" } ?? "in another PID namespace"
        let origin = agent?.process.map { ", started \($0.origin.description)" } ?? ""
        return "\(pid), version \(status.version ?? "unknown")\(Self.age(status.uptime))\(origin)"
    }

    private static func age(_ seconds: Int64?) -> String {
        guard let seconds else { return "" }
        return seconds < 120 ? ", up \(seconds) s" : ", up \(seconds / 3_600) h \(seconds / 60 % 60) min"
    }

    private func watching(_ status: AgentStatus) -> String {
        "\(status.mode ?? "unknown") (\((status.watches ?? 0).counting("watch", plural: "watches")), "
            + "\(status.overflows.counting("overflow")))"
    }

    /// The report as a JSON object.
    var json: String {
        JSONText.object([
            (
                "command",
                JSONText.object([
                    ("version", JSONText.string(Version.current)), ("program", JSONText.string(programs.command)),
                ])
            ),
            ("agent", agent?.json ?? "null"),
            ("otherAgents", others.json),
            ("agentProgram", programs.agent.map(JSONText.string) ?? "null"),
            ("directory", Self.json(location.directory?.path, location.directorySource)),
            ("socket", Self.json(location.address?.socketPath, location.socketSource)),
            ("fileSystem", fileSystem?.json ?? "null"),
            ("inotify", inotify.json),
            ("findings", ChangeJSON.list(findings.map(\.json))),
        ])
    }

    private static func json(_ path: String?, _ source: ServedLocation.Source) -> String {
        guard let path else { return "null" }
        return JSONText.object([("path", JSONText.string(path)), ("source", JSONText.string(source.rawValue))])
    }
}

extension AgentExamination {
    /// Whether an agent is there, even if it doesn't answer.
    fileprivate var isThere: Bool {
        if case .none = answer { return holder != nil }
        return true
    }

    /// The agent as a JSON object; `nil` if none answered.
    fileprivate var json: String? {
        guard let status else { return nil }
        func text(_ text: String?) -> String { text.map(JSONText.string) ?? "null" }
        func number(_ number: Int64?) -> String { number.map { "\($0)" } ?? "null" }
        return JSONText.object([
            ("pid", number(status.pid)), ("version", text(status.version)), ("program", text(status.program)),
            ("isReplaced", process?.isReplaced == true ? "true" : "false"), ("uptime", number(status.uptime)),
            ("startedBy", text(process?.origin.name)), ("socket", text(status.socketPath)),
            ("watching", text(status.mode)), ("watches", number(status.watches)),
            ("overflows", number(status.overflows)),
        ])
    }
}
