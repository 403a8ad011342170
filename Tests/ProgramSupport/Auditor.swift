import DefaultsClient
package import DefaultsCore
import DefaultsKit
import PropertyList
import TestSupport

/// A comparison of an agent's values, the files' contents, and the results of the log.
package struct Auditor {
    private let directory: PreferencesDirectory
    private let address: AgentAddress
    private let environment: Environment

    /// Creates the comparison for an agent with the given environment.
    package init(_ directory: PreferencesDirectory, _ address: AgentAddress, _ environment: Environment) {
        self.directory = directory
        self.address = address
        self.environment = environment
    }

    /// Returns the discrepancies, as sentences.
    ///
    /// - Parameter mayLackRecords: Whether the log may lack records, such as those made while the disk was full. Its
    ///   values aren't compared then.
    /// - Returns: The discrepancies.
    /// - Throws: The reason why the agent can't be asked.
    package func findings(logMayLackRecords mayLackRecords: Bool = false) throws -> [String] {
        guard let agent = try AgentConnection.open(address, for: directory) else {
            throw DefaultsError(.agentUnavailable, "No agent serves \(directory.path).")
        }
        var findings = try agent.barrier().failures.map(\.description)
        let location = LogLocation(for: directory, socketAt: address.socketPath, environment: environment)
        let log = try RecoveredLog.read(from: location.log, limits: Frame.messageLimits).intactLog
        if log == nil { findings.append("The change log can't be recovered.") }
        for domain in try agent.domains() where domain.user == .current {
            let snapshot = try agent.snapshot(of: domain)
            if let damage = snapshot.damage { findings.append(damage) }
            findings += fileFindings(domain, snapshot.values)
            if let log, !mayLackRecords { findings += logFindings(domain, snapshot.values, log) }
        }
        return findings
    }

    private func fileFindings(_ domain: Domain, _ values: DomainValues) -> [String] {
        let path = directory.path + "/" + domain.fileName
        var held: DomainValues = [:]
        if RawFile.exists(path) {
            guard case .dictionary(let found)? = try? PropertyListValue(parsing: RawFile.read(path)) else {
                return ["\(domain): can't read its file."]
            }
            held = found
        }
        return held == values ? [] : ["\(domain): its file differs from the agent's values."]
    }

    private func logFindings(_ domain: Domain, _ values: DomainValues, _ log: RecoveredLog) -> [String] {
        var findings: [String] = []
        var last: DomainValues = [:]
        var seen: Set<String> = []
        for record in log.records where record.domain == domain {
            guard case .change(let changes) = record.event else {
                // The changes in between are unknown.
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
            findings.append("\(domain): the log's last value of \(key) differs from the agent's.")
        }
        return findings
    }
}
