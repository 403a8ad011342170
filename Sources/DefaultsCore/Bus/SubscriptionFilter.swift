/// Which domains and keys a subscriber wants.
package struct SubscriptionFilter: Hashable, Sendable {
    /// Patterns of domains' names, of which one must match; empty for all domains.
    package var domains: [GlobPattern]
    /// Patterns of keys, of which one must match; empty for all keys.
    package var keys: [GlobPattern]

    package init(domains: [GlobPattern] = [], keys: [GlobPattern] = []) {
        self.domains = domains
        self.keys = keys
    }

    /// Whether anything of the domain is wanted.
    package func includes(_ domain: Domain) -> Bool {
        domains.isEmpty || domains.contains { $0.matches(domain.name.description) }
    }

    /// Whether the key is wanted.
    package func includes(key: String) -> Bool {
        keys.isEmpty || keys.contains { $0.matches(key) }
    }

    /// What of a record is wanted; `nil` for nothing.
    ///
    /// A record stays one, with fewer keys.
    package func callAsFunction(_ record: LogRecord) -> LogRecord? {
        guard includes(record.domain) else { return nil }
        guard case .change(var changeSet) = record.event, !keys.isEmpty else { return record }
        changeSet.changes.removeAll { !includes(key: $0.key) }
        changeSet.overruled.removeAll { !includes(key: $0.key) }
        if changeSet.isEmpty { return nil }
        return LogRecord(revision: record.revision, time: record.time, event: .change(changeSet))
    }
}
