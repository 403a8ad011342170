/// Which domains and keys a subscriber wants.
package struct SubscriptionFilter: Hashable, Sendable {
    /// Patterns of domains' names, of which one must match, unless the name is one of `names`.
    package let patterns: [GlobPattern]
    /// The names that are wanted one by one.
    package private(set) var names = DomainNames()
    /// Patterns of keys, of which one must match; empty for all keys.
    package let keys: [GlobPattern]
    /// Whether every domain is wanted.
    private let isOfAllDomains: Bool

    /// Makes a filter.
    ///
    /// - Parameters:
    ///   - domains: patterns of domains' names, of which one must match; empty for all domains.
    ///   - keys: patterns of keys, of which one must match; empty for all keys.
    package init(domains: [GlobPattern] = [], keys: [GlobPattern] = []) {
        self.keys = keys
        isOfAllDomains = domains.isEmpty
        var patterns: [GlobPattern] = []
        for pattern in domains {
            if let name = pattern.domainName { names.insert(name) } else { patterns.append(pattern) }
        }
        self.patterns = patterns
    }

    /// The patterns of domains' names, those included that match one name each.
    package var domains: [GlobPattern] { patterns + names.sorted().map { GlobPattern.exactly($0.description) } }

    /// Includes the domains of more names.
    mutating func insert(_ more: [DomainName]) {
        for name in more { names.insert(name) }
    }

    /// Leaves out the domains of names, unless a pattern matches them.
    mutating func remove(_ gone: [DomainName]) {
        for name in gone { names.remove(name) }
    }

    /// Whether anything of the domain is wanted.
    package func includes(_ domain: Domain) -> Bool {
        isOfAllDomains || names.contains(domain.name)
            || patterns.contains { $0.matches(domain.name.description) }
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
