import DefaultsCore
import DefaultsKit
import PropertyList

/// Compares what an agent says, what the files hold, and what the log amounts to.
struct Auditor {
    private let directory: PreferencesDirectory
    private let address: AgentAddress

    init(_ directory: PreferencesDirectory, _ address: AgentAddress) {
        self.directory = directory
        self.address = address
    }

    /// What doesn't agree, as sentences.
    func findings() throws -> [String] {
        guard let agent = try AgentConnection.open(address, for: directory) else {
            throw DefaultsError(.agentUnavailable, "No agent serves \(directory.path).")
        }
        var findings = try agent.barrier().failures.map(\.description)
        let log = ChangeLogFile.recover(from: address.logPath(for: directory), limits: Frame.messageLimits)
        if log == nil { findings.append("The change log can't be recovered.") }
        for domain in try agent.domains() where domain.user == .current {
            let snapshot = try agent.snapshot(of: domain)
            if let damage = snapshot.damage { findings.append(damage) }
            findings += fileFindings(domain, snapshot.values)
            if let log { findings += logFindings(domain, snapshot.values, log) }
        }
        return findings
    }

    private func fileFindings(_ domain: Domain, _ values: DomainValues) -> [String] {
        guard let held = ForeignFile(path: directory.path + "/" + domain.fileName).read() else {
            return ["\(domain): its file can't be read."]
        }
        return held == values ? [] : ["\(domain): its file is not what the agent has."]
    }

    private func logFindings(_ domain: Domain, _ values: DomainValues, _ log: ChangeLogFile.Recovered) -> [String] {
        var findings: [String] = []
        var last: DomainValues = [:]
        var seen: Set<String> = []
        for record in log.records where record.domain == domain {
            guard case .change(let changes) = record.event else {
                // What happened meanwhile is not known.
                seen = []
                continue
            }
            for change in changes.changes {
                if seen.contains(change.key), last[change.key] != change.old {
                    findings.append("\(domain): the log's old value of \(change.key) at \(record.revision) is wrong.")
                }
                seen.insert(change.key)
                last[change.key] = change.new
            }
        }
        for key in seen where values[key] != last[key] {
            findings.append("\(domain): the log's last value of \(key) is not what the agent has.")
        }
        return findings
    }
}
