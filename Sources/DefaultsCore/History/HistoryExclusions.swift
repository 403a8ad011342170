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
    ///   them.
    package init(_ texts: [String]) {
        patterns = texts.map { text in
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return Pattern(domain: GlobPattern(parts[0]), key: parts.count > 1 ? GlobPattern(parts[1]) : nil)
        }
    }

    package var isEmpty: Bool { patterns.isEmpty }

    /// Returns whether a key's values must not be kept.
    package func exclude(_ key: String, of domain: Domain) -> Bool {
        patterns.contains { pattern in
            pattern.domain.matches(domain.name.description) && pattern.key.map { $0.matches(key) } ?? true
        }
    }

    /// Returns what may be kept of an entry of the change log.
    ///
    /// A change set with an excluded key becomes an unknown change, so that a follower that resumes from the file reads
    /// the values again. A mark loses the unsaved edits of excluded keys.
    func redact(_ entry: LogEntry) -> LogEntry {
        if patterns.isEmpty { return entry }
        switch entry {
        case .record(let record):
            guard case .change(let changeSet) = record.event, excludeAny(of: changeSet) else { return entry }
            return .record(
                LogRecord(revision: record.revision, time: record.time, event: .unknown(changeSet.domain)))
        case .mark(var mark):
            mark.pending = mark.pending.filter { !exclude($0.key, of: mark.domain) }
            return .mark(mark)
        case .marks, .end: return entry
        }
    }

    private func excludeAny(of changeSet: ChangeSet) -> Bool {
        changeSet.changes.contains { exclude($0.key, of: changeSet.domain) }
            || changeSet.overruled.contains { exclude($0.key, of: changeSet.domain) }
    }

    /// Returns the part of a record that may be shown in the history; `nil` if nothing may.
    func callAsFunction(_ record: LogRecord) -> LogRecord? {
        guard !patterns.isEmpty, case .change(var changeSet) = record.event, excludeAny(of: changeSet) else {
            return record
        }
        changeSet.changes.removeAll { exclude($0.key, of: changeSet.domain) }
        changeSet.overruled.removeAll { exclude($0.key, of: changeSet.domain) }
        if changeSet.isEmpty { return nil }
        return LogRecord(revision: record.revision, time: record.time, event: .change(changeSet))
    }
}
