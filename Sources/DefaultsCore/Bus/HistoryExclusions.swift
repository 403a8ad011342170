import PropertyList

/// The keys whose values never get into the change log file or the archive, such as passwords.
package struct HistoryExclusions: Sendable {
    /// The keys of some domains.
    private struct Keys: Sendable {
        var names: Set<String> = []
        var patterns: [GlobPattern] = []
        var areAll = false

        mutating func add(_ pattern: GlobPattern?) {
            if let name = pattern?.onlyName {
                names.insert(name)
            } else if let pattern {
                patterns.append(pattern)
            } else {
                areAll = true
            }
        }

        func contains(_ key: String) -> Bool {
            areAll || names.contains(key) || patterns.contains { $0.matches(key: key) }
        }
    }

    /// The excluded keys by domain name, of which manifests can name thousands.
    private var named: [String: Keys] = [:]
    /// The excluded keys by patterns of names.
    private var patterns: [(domains: GlobPattern, keys: Keys)] = []
    /// The texts of the patterns.
    package let texts: [String]
    /// Those of them that come from manifests.
    package private(set) var sensitive: [String] = []
    /// Whether the keys aren't known, so that all count as excluded.
    package let areUnknown: Bool
    /// The salt of excluded keys' hashes, so that those in different logs can't be compared.
    private let salt = UInt64.random(in: 1...UInt64(Int64.max))

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

    /// Returns these exclusions and those of manifests; if these are unknown, all keys are excluded anyway.
    package func adding(_ texts: [String]) -> HistoryExclusions {
        if areUnknown || texts.isEmpty { return self }
        let known = Set(self.texts)
        let further = texts.filter { !known.contains($0) }
        var sum = HistoryExclusions(self.texts + further)
        sum.sensitive = further
        return sum
    }

    private init(_ texts: [String], areUnknown: Bool) {
        (self.texts, self.areUnknown) = (texts, areUnknown)
        for text in texts {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let domains = GlobPattern(parts[0] == "-g" ? DomainName.global.description : parts[0])
            let keys = parts.count > 1 ? GlobPattern(parts[1]) : nil
            if let name = domains.onlyName {
                named[name, default: Keys()].add(keys)
            } else {
                var matching = Keys()
                matching.add(keys)
                patterns.append((domains, matching))
            }
        }
    }

    /// Returns whether a domain pattern looks like a key.
    static func isLikelyKey(_ text: String) -> Bool {
        !text.contains { $0 == "/" || $0 == "." } && text.contains { $0 != "*" }
            && !["-g", DomainName.global.description].contains(text)
    }

    package var isEmpty: Bool { texts.isEmpty && !areUnknown }

    /// Returns whether every pattern is among others, so that a file without their keys is without these, too.
    func areAll(in others: HistoryExclusions) -> Bool { Set(texts).isSubset(of: others.texts) }

    /// Returns whether a key's values must not be kept.
    package func exclude(_ key: String, of domain: Domain) -> Bool {
        if areUnknown { return true }
        if isEmpty { return false }
        // Users can't see which spelling of a name they have typed. Equal strings are canonically equivalent, too.
        let name = domain.name.description
        return named[name]?.contains(key) == true
            || patterns.contains { $0.domains.matches(key: name) && $0.keys.contains(key) }
    }

    /// Returns what may be kept of a record, and shown in the history.
    ///
    /// A change set with an excluded key becomes an unknown change, so that a follower that resumes from the file reads
    /// the values again. The rest of the change set stays with it, for the history, and the hashes of the excluded
    /// keys, so that a later agent knows that they changed.
    func redact(_ record: LogRecord) -> LogRecord {
        guard !isEmpty, let changeSet = record.changeSet else { return record }
        func isExcluded(_ key: String) -> Bool { exclude(key, of: changeSet.domain) }
        let isAffected =
            changeSet.changes.contains { isExcluded($0.key) } || changeSet.overruled.contains { isExcluded($0.key) }
        if !isAffected { return record }
        var rest = record.filter { !isExcluded($0) }.changeSet
        rest?.origin?.purpose?.reach?.oldest = (changeSet.origin?.purpose?.reach?.oldest ?? [:])
            .filter { !isExcluded($0.key) }
        let keys = changeSet.changes.map(\.key).filter(isExcluded)
        if !keys.isEmpty { rest?.excluded.append(ExcludedKeys(keys, salt: salt)) }
        var redacted = record
        redacted.event = .unknown(record.domain, rest: rest)
        return redacted
    }
}

extension HistoryExclusions: Hashable {
    package static func == (first: HistoryExclusions, second: HistoryExclusions) -> Bool {
        first.texts == second.texts && first.areUnknown == second.areUnknown
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(texts) }
}

extension ExcludedKeys {
    var value: PropertyListValue {
        ["salt": .number(salt), "hashes": .array(hashes.sorted().map { .number($0) })]
    }

    init(_ fields: Fields) throws(DefaultsError) {
        salt = try fields.unsigned("salt")
        hashes = Set(try fields.numbers("hashes"))
    }
}
