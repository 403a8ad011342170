import PropertyList

/// The newest change to each key that an archive has lost by thinning.
///
/// All later changes to the key are there, so the values since that change are known, and earlier ones aren't.
package struct ThinnedChanges: Hashable, Sendable {
    private struct Keys: Hashable, Sendable {
        var newest: [String: Revision] = [:]
        /// The newest change that may be to any key; 0 if none is lost.
        var others: Revision = 0

        var last: Revision { max(others, newest.values.max() ?? 0) }
    }

    private var domains: [Domain: Keys] = [:]
    /// The newest change to any key of any domain, as far as the others don't tell; 0 if none is lost.
    private var elsewhere: Revision = 0
    /// The random number of the last removal of excluded keys from the archive; 0 if there was none.
    var redaction: UInt64 = 0

    package init() {}

    /// Adds a change; `nil` stands for a change to any key.
    mutating func add(_ revision: Revision, of key: String?, in domain: Domain) {
        guard let key else {
            domains[domain, default: Keys()].others = max(revision, domains[domain]?.others ?? 0)
            return
        }
        let known = domains[domain]?.newest[key] ?? 0
        domains[domain, default: Keys()].newest[key] = max(revision, known)
    }

    /// Adds a change of which nothing but its revision is known.
    mutating func add(_ revision: Revision) { elsewhere = max(elsewhere, revision) }

    /// Returns the keys of a domain that have lost a change after a revision.
    ///
    /// - Parameters:
    ///   - domain: The domain.
    ///   - revision: The revision.
    ///   - known: The keys that may be meant where it is only known that some key has lost a change.
    /// - Returns: The keys.
    package func keys(in domain: Domain, after revision: Revision, among known: Set<String>) -> Set<String> {
        let keys = domains[domain] ?? Keys()
        let lost = Set(keys.newest.filter { $0.value > revision }.keys)
        if elsewhere > revision { return lost.union(known) }
        return keys.others > revision ? lost.union(known) : lost
    }

    /// Returns whether any key that passes a filter has lost a change after a revision.
    package func hasAny(after revision: Revision, _ filter: SubscriptionFilter) -> Bool {
        elsewhere > revision
            || domains.contains { domain, keys in
                filter.includes(domain)
                    && (keys.others > revision
                        || keys.newest.contains { $0.value > revision && filter.includes(key: $0.key) })
            }
    }

    /// Removes the names of excluded keys.
    mutating func remove(_ exclusions: HistoryExclusions) {
        for (domain, keys) in domains {
            let newest = keys.newest.filter { !exclusions.exclude($0.key, of: domain) }
            domains[domain] = newest.isEmpty && keys.others == 0 ? nil : Keys(newest: newest, others: keys.others)
        }
    }
}

// The entries with which an archive begins.

extension ThinnedChanges {
    static let type = "thinned"

    /// Returns the encoded entries, one for each domain, joining keys and domains if they exceed a size in bytes.
    mutating func encode(within limit: Int) -> [UInt8] {
        var entries: [Domain: [UInt8]] = [:]
        for (domain, keys) in domains { entries[domain] = Self.entry(of: domain, keys) }
        var size = entries.values.reduce(0) { $0 + $1.count }
        for (domain, entry) in entries.sorted(by: { $0.value.count > $1.value.count }) where size > limit {
            let joined = Keys(others: domains[domain]?.last ?? 0)
            domains[domain] = joined
            entries[domain] = Self.entry(of: domain, joined)
            size += (entries[domain]?.count ?? 0) - entry.count
        }
        if size > limit {
            add(domains.values.map(\.last).max() ?? 0)
            (domains, entries) = ([:], [:])
        }
        var fields: DomainValues = ["type": .string(Self.type), "others": .number(elsewhere)]
        if redaction != 0 { fields["redaction"] = .number(redaction) }
        let rest = elsewhere == 0 && redaction == 0 ? [] : LogEntry.thinned(Fields(fields)).encoded
        return rest + entries.sorted { $0.key < $1.key }.flatMap(\.value)
    }

    private static func entry(of domain: Domain, _ keys: Keys) -> [UInt8] {
        var fields = domain.fields
        fields["type"] = .string(type)
        fields["keys"] = .dictionary(keys.newest.mapValues { .number($0) })
        if keys.others > 0 { fields["others"] = .number(keys.others) }
        return LogEntry.thinned(Fields(fields)).encoded
    }

    /// Adds the changes in an entry.
    mutating func add(_ entry: Fields) throws(DefaultsError) {
        let others = entry.values["others"] == nil ? 0 : try entry.unsigned("others")
        guard entry.values["domain"] != nil else {
            add(others)
            if entry.values["redaction"] != nil { redaction = try entry.unsigned("redaction") }
            return
        }
        let domain = try entry.domain()
        let keys = Fields(try entry.dictionary("keys"))
        for key in keys.values.keys { add(try keys.unsigned(key), of: key, in: domain) }
        domains[domain, default: Keys()].others = max(others, domains[domain]?.others ?? 0)
    }
}
