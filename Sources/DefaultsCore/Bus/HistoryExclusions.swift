/// The keys whose values never get into the change log file or the archive, such as passwords.
package struct HistoryExclusions: Hashable, Sendable {
    private struct Pattern: Hashable, Sendable {
        var domain: GlobPattern
        /// The pattern of keys; `nil` for all.
        var key: GlobPattern?
    }

    private var patterns: [Pattern] = []
    /// The texts of the patterns.
    package let texts: [String]
    /// Whether nobody knows which keys these are, so that all count as excluded.
    package let areUnknown: Bool

    /// Creates exclusions of no key.
    package init() { self.init([]) }

    /// Exclusions for as long as the settings can't be read.
    package static let unknown = HistoryExclusions([], areUnknown: true)

    /// The exclusions that apply to what is already in the history: none if they are unknown, since values that are
    /// removed can't be restored.
    package var ofEarlierEntries: HistoryExclusions { areUnknown ? HistoryExclusions() : self }

    /// Creates exclusions from patterns.
    ///
    /// - Parameter texts: Patterns with `*` and `?`: of a domain's name, or of a name and a key, with a slash between
    ///   them. The global domain may also be named `-g`.
    package init(_ texts: [String]) { self.init(texts, areUnknown: false) }

    /// Returns these exclusions and further ones; if these are unknown, all keys are excluded anyway.
    package func adding(_ texts: [String]) -> HistoryExclusions {
        areUnknown || texts.isEmpty ? self : HistoryExclusions(self.texts + texts)
    }

    private init(_ texts: [String], areUnknown: Bool) {
        (self.texts, self.areUnknown) = (texts, areUnknown)
        patterns = texts.map { text in
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let domain = parts[0] == "-g" ? DomainName.global.description : parts[0]
            return Pattern(domain: GlobPattern(domain), key: parts.count > 1 ? GlobPattern(parts[1]) : nil)
        }
    }

    /// Returns whether a domain pattern looks like a key.
    static func isLikelyKey(_ text: String) -> Bool {
        !text.contains { $0 == "/" || $0 == "." } && text.contains { $0 != "*" }
            && !["-g", DomainName.global.description].contains(text)
    }

    package var isEmpty: Bool { patterns.isEmpty && !areUnknown }

    /// Returns whether every pattern is among others, so that what has lost their keys has lost these, too.
    func areAll(in others: HistoryExclusions) -> Bool { Set(texts).isSubset(of: others.texts) }

    /// Returns whether a key's values must not be kept.
    package func exclude(_ key: String, of domain: Domain) -> Bool {
        areUnknown
            || patterns.contains { pattern in
                // Users can't see which spelling of a name they have typed.
                pattern.domain.matches(key: domain.name.description) && pattern.key.map { $0.matches(key: key) } ?? true
            }
    }

    /// Returns which of a domain's unsaved edits may be kept: those that can be kept as a whole.
    func edits(_ pending: [String: Edit], of domain: Domain) -> [String: Edit] {
        let excluded = pending.filter { exclude($0.key, of: domain) }
        if excluded.isEmpty { return pending }
        let torn = Set(excluded.values.map(\.sequence)).subtracting([Edit.unordered])
        return pending.filter { excluded[$0.key] == nil && !torn.contains($0.value.sequence) }
    }

    /// Returns what may be kept of a record, and shown in the history.
    ///
    /// A change set with an excluded key becomes an unknown change, so that a follower that resumes from the file reads
    /// the values again. The rest of the change set stays with it, for the history.
    func redact(_ record: LogRecord) -> LogRecord {
        guard !isEmpty, let changeSet = record.changeSet else { return record }
        func isExcluded(_ key: String) -> Bool { exclude(key, of: changeSet.domain) }
        let isAffected =
            changeSet.changes.contains { isExcluded($0.key) } || changeSet.overruled.contains { isExcluded($0.key) }
        if !isAffected { return record }
        var rest = record.filter { !isExcluded($0) }.changeSet
        rest?.origin?.purpose?.reach?.oldest = (changeSet.origin?.purpose?.reach?.oldest ?? [:])
            .filter { !isExcluded($0.key) }
        // After a crash, the excluded values are only in the edit that the client sends again.
        if rest?.changes.count != changeSet.changes.count { rest?.edit = nil }
        return LogRecord(revision: record.revision, time: record.time, event: .unknown(record.domain, rest: rest))
    }
}
