/// The keys whose values never get into the change log file or the archive, such as passwords.
package struct HistoryExclusions: Hashable, Sendable {
    private struct Pattern: Hashable, Sendable {
        var domain: GlobPattern
        /// The pattern of keys; `nil` for all.
        var key: GlobPattern?
    }

    private var patterns: [Pattern] = []

    package init() {}

    /// Creates exclusions from patterns.
    ///
    /// - Parameter texts: Patterns with `*` and `?`: of a domain's name, or of a name and a key, with a slash between
    ///   them. The global domain may also be named `-g`.
    package init(_ texts: [String]) {
        patterns = texts.map { text in
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let domain = parts[0] == "-g" ? DomainName.global.description : parts[0]
            return Pattern(domain: GlobPattern(domain), key: parts.count > 1 ? GlobPattern(parts[1]) : nil)
        }
    }

    package var isEmpty: Bool { patterns.isEmpty }

    /// Returns whether a key's values must not be kept.
    package func exclude(_ key: String, of domain: Domain) -> Bool {
        patterns.contains { pattern in
            // Users can't see which spelling of a name they have typed.
            pattern.domain.matches(key: domain.name.description) && pattern.key.map { $0.matches(key: key) } ?? true
        }
    }

    /// Returns what may be kept of an entry of the change log.
    ///
    /// A mark loses the unsaved edits of excluded keys.
    func redact(_ entry: LogEntry) -> LogEntry {
        if patterns.isEmpty { return entry }
        switch entry {
        case .record(let record): return .record(redact(record))
        case .mark(var mark):
            mark.pending = mark.pending.filter { !exclude($0.key, of: mark.domain) }
            return .mark(mark)
        case .marks, .identity, .end: return entry
        }
    }

    /// Returns what may be kept of a record, and shown in the history.
    ///
    /// A change set with an excluded key becomes an unknown change, so that a follower that resumes from the file reads
    /// the values again. The rest of the change set stays with it, for the history.
    func redact(_ record: LogRecord) -> LogRecord {
        guard !patterns.isEmpty, let changeSet = record.changeSet else { return record }
        let isAffected =
            changeSet.changes.contains { exclude($0.key, of: changeSet.domain) }
            || changeSet.overruled.contains { exclude($0.key, of: changeSet.domain) }
        if !isAffected { return record }
        let filtered = record.filter { !exclude($0, of: changeSet.domain) }
        var rest = filtered.changeSet
        // After a crash, the excluded values are only in the edit that the client sends again.
        if rest?.changes.count != changeSet.changes.count { rest?.edit = nil }
        return LogRecord(revision: record.revision, time: record.time, event: .unknown(record.domain, rest: rest))
    }
}
