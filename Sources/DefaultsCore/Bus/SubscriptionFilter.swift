/// The domains and keys that a subscriber wants.
package struct SubscriptionFilter: Hashable, Sendable {
    /// Patterns of domain names; a name must match one of them unless it is in `names`.
    package let patterns: [GlobPattern]
    /// Domain names that pass exactly as they are.
    package private(set) var names = DomainNames()
    /// Patterns of keys; a key must match one of them, or any key passes if there are none.
    package let keys: [GlobPattern]
    /// The only host whose domains pass; `nil` for all.
    ///
    /// It isn't sent to the agent: the receiver of an answer applies it.
    package var host: DomainHost?
    /// Whether all domains pass.
    private let isOfAllDomains: Bool

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - domains: Patterns of domain names; a name must match one of them, or any name passes if there are none.
    ///   - keys: Patterns of keys, of which one must match; empty for all keys.
    package init(domains: [GlobPattern] = [], keys: [GlobPattern] = []) {
        self.keys = keys
        isOfAllDomains = domains.isEmpty
        var patterns: [GlobPattern] = []
        for pattern in domains {
            if let name = pattern.domainName { names.insert(name) } else { patterns.append(pattern) }
        }
        self.patterns = patterns
    }

    /// The patterns of domain names that make an equal filter, including those that match a single name.
    package var domains: [GlobPattern] {
        if isOfAllDomains { return [] }
        let all = patterns + names.sorted().map { GlobPattern.exactly($0.description) }
        // No patterns would match all names, and no domain has this one.
        return all.isEmpty ? [GlobPattern("/")] : all
    }

    /// Adds domain names.
    package mutating func insert(_ more: [DomainName]) {
        for name in more { names.insert(name) }
    }

    /// Removes domain names; names that match a pattern still pass.
    package mutating func remove(_ gone: [DomainName]) {
        for name in gone { names.remove(name) }
    }

    /// Returns whether the domain passes the filter.
    package func includes(_ domain: Domain) -> Bool {
        if let host, domain.host != host { return false }
        return isOfAllDomains || names.contains(domain.name)
            || patterns.contains { $0.matches(domain.name.description) }
    }

    /// Returns whether the key passes the filter.
    package func includes(key: String) -> Bool {
        keys.isEmpty || keys.contains { $0.matches(key: key) }
    }

    /// Returns the part of a record that passes the filter; `nil` if nothing does.
    ///
    /// A record is never split; it may only lose keys.
    package func callAsFunction(_ record: LogRecord) -> LogRecord? {
        part(of: record).flatMap { keys.isEmpty || !$0.hasNoChanges ? $0 : nil }
    }

    /// Returns the part of a record in the history that passes the filter; `nil` if nothing does.
    ///
    /// An undo or a redo passes even if its changes to a key canceled each other out, since it still reverses the
    /// changes before it.
    package func inHistory(_ record: LogRecord) -> LogRecord? {
        self(record) ?? (record.keys.contains(where: includes(key:)) ? part(of: record) : nil)
    }

    /// Returns a record of a domain that passes the filter, without the changes to other keys.
    private func part(of record: LogRecord) -> LogRecord? {
        guard includes(record.domain) else { return nil }
        return keys.isEmpty ? record : record.filter { includes(key: $0) }
    }

    /// Returns the part of a snapshot that passes the filter; `nil` if nothing does.
    package func callAsFunction(_ snapshot: DomainSnapshot) -> DomainSnapshot? {
        guard includes(snapshot.domain) else { return nil }
        if keys.isEmpty { return snapshot }
        var wanted = snapshot
        wanted.values = snapshot.values.filter { includes(key: $0.key) }
        return wanted.values.isEmpty && wanted.damage == nil ? nil : wanted
    }
}

/// A set of domain names that can be hashed, and usually compared, in constant time.
package struct DomainNames: Hashable, Sendable {
    private var names: Set<DomainName> = []
    /// The combined hashes of the names, independent of their order.
    private var mark = 0

    package var count: Int { names.count }

    package func contains(_ name: DomainName) -> Bool { names.contains(name) }

    /// Returns the names in order.
    package func sorted() -> [DomainName] { names.sorted() }

    mutating func insert(_ name: DomainName) {
        if names.insert(name).inserted { mark ^= name.hashValue }
    }

    mutating func remove(_ name: DomainName) {
        if names.remove(name) != nil { mark ^= name.hashValue }
    }

    package static func == (first: DomainNames, second: DomainNames) -> Bool {
        first.mark == second.mark && first.names == second.names
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(mark) }
}
