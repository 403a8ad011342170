import DefaultsCore
import Manifests
import PropertyList

/// The manifest of the domain that a command works on.
struct DomainManifest {
    let name: DomainName
    let entry: ManifestSet.Entry

    var manifest: Manifest { entry.manifest }

    /// Finds the manifest of a domain, and reports the files that can't be used.
    ///
    /// - Parameters:
    ///   - name: The domain; `nil` for a file that is no domain's.
    ///   - keepsTexts: Whether texts for people are needed.
    /// - Returns: The manifest; `nil` if there is none.
    static func find(_ name: DomainName?, keepsTexts: Bool = false) -> DomainManifest? {
        guard let name else { return nil }
        let set = ManifestSet(in: ManifestDirectories(environment: .current), for: name, keepsTexts: keepsTexts)
        for problem in set.problems { Failure.report("\(problem)") }
        return set.entry(for: name).map { DomainManifest(name: name, entry: $0) }
    }

    /// Returns the manifest of a domain with its texts, for a verb that needs one.
    ///
    /// - Throws: If there is none.
    static func required(_ name: DomainName?) throws(Failure) -> DomainManifest {
        if let found = find(name, keepsTexts: true) { return found }
        guard let name else {
            throw Failure("A file outside the preferences directory has no manifest. Name a domain.", .usage)
        }
        let place = ManifestDirectories(environment: .current).paths.map { "\($0)/\(Domain(name).fileName)" }
        throw Failure(
            "\(name) has no manifest. It would be in \(place.joined(separator: " or ")).", .notFound)
    }

    /// Checks an edit before it is made, and reports what it breaks.
    ///
    /// - Parameters:
    ///   - keys: The keys that change, or are set to the values that they have.
    ///   - old: The values of the domain before, at least of these keys.
    ///   - values: The values afterwards.
    ///   - isStrict: Whether an edit that breaks the manifest is refused.
    ///   - reports: Whether messages are written.
    /// - Throws: If the edit is refused.
    func check(
        _ keys: Set<String>, from old: DomainValues, to values: DomainValues, isStrict: Bool, reports: Bool = true
    ) throws {
        let changed = keys.filter { old[$0] != values[$0] }
        let violations =
            manifest.violations(of: changed, from: old, to: values)
            + manifest.violations(of: keys.subtracting(changed), in: values, limitedTo: Violation.Rule.ofOneValue)
        guard let first = violations.first else { return }
        if isStrict { throw Failure("\(text(first, in: values)) Nothing was changed.", .dataError) }
        if entry.isEnforced,
            let refused = violations.first(where: {
                changed.contains($0.key) && Violation.Rule.ofOneValue.contains($0.rule)
            })
        {
            throw Failure(
                "\(text(refused, in: values)) Nothing was changed, because \(entry.path) is enforced.", .dataError)
        }
        guard reports else { return }
        for violation in violations.prefix(Self.maximumReports) { Failure.report(text(violation, in: values)) }
        let rest = violations.count - Self.maximumReports
        if rest > 0 { Failure.report("\(rest.counting("more value")) break the manifest \(entry.path).") }
    }

    private static let maximumReports = 10

    /// The options of `write` for types, which otherwise writes a string.
    private static let typeOptions = [
        "integer": "-int", "real": "-float", "boolean": "-bool", "date": "-date", "data": "-data",
    ]

    /// Returns the sentence about a violation, with a suggestion for a key that isn't known.
    private func text(_ violation: Violation, in values: DomainValues) -> String {
        if violation.rule == .type, violation.path.isEmpty, case .string(let value)? = values[violation.key],
            case .string(let kind)? = violation.limit, let option = Self.typeOptions[kind]
        {
            let isNumber = kind == "integer" && Int64(value) != nil || kind == "real" && Double(value) != nil
            // Another manifest may call the key sensitive.
            var sensitive = SensitiveKeys()
            if isNumber, !sensitive.contains(violation.key, of: name) {
                return "\(violation.description.dropLast()), but is a string; use \(option) \(value)."
            }
            return "\(violation.description.dropLast()), and not a string: `defaults write` sets one with \(option)."
        }
        guard violation.rule == .unknown else { return violation.description }
        if violation.path.isEmpty, let inner = manifest.key(at: violation.key) {
            return "\(violation.description) It describes \"\(inner.key.name)\" in the dictionary "
                + "\"\(inner.path.dropLast().joined(separator: "."))\": put --key-path before the domain."
        }
        var names = [violation.key]
        for step in violation.path {
            guard case .name(let name) = step else { return violation.description }
            names.append(name)
        }
        let wanted = names.removeLast()
        let keys = names.isEmpty ? manifest.keys : manifest.key(at: names.joined(separator: "."))?.key.fixedSubkeys
        return violation.description + Suggestion.question(wanted, among: keys?.map(\.name) ?? [])
    }
}

/// The sensitive keys of domains, whose values aren't shown.
struct SensitiveKeys {
    private struct Reading {
        /// The keys, as those whose values don't get into the history.
        var keys: HistoryExclusions
        /// Whether files can't be read, of which one may describe the domain.
        var isIncomplete: Bool
        var time: ContinuousClock.Instant
    }

    private var readings: [DomainName: Reading] = [:]
    /// The reasons for which all values of a domain are masked, each of which is reported once.
    private var reported: Set<String> = []
    /// The text that is shown instead of the values.
    static let mask = PropertyListValue.string("(sensitive)")
    /// The age at which manifests are read again, since others may have been installed.
    private static let maximumAge = Duration.seconds(1)

    /// Returns whether the values of a domain's key aren't shown; while a manifest can't be read, no value is.
    mutating func contains(_ key: String, of name: DomainName) -> Bool {
        let now = ContinuousClock.now
        if readings[name].map({ now - $0.time > Self.maximumAge }) ?? true {
            let set = ManifestSet(in: ManifestDirectories(environment: .current), for: name, keepsTexts: false)
            readings[name] = Reading(
                keys: HistoryExclusions(set.exclusions), isIncomplete: set.isIncomplete, time: now)
            if set.isIncomplete {
                for problem in set.problems where reported.insert(problem.description).inserted {
                    Failure.report("Values of \(name) are not shown, since they may be secret. \(problem)")
                }
            }
        }
        guard let reading = readings[name] else { return false }
        return reading.isIncomplete || reading.keys.exclude(key, of: Domain(name))
    }

    /// Returns an event with the mask in place of the values of sensitive keys.
    mutating func masked(_ event: StreamEvent) -> StreamEvent {
        switch event {
        case .record(let record, let cursor): return .record(masked(record), cursor: cursor)
        case .initial(var snapshot):
            for key in snapshot.values.keys where contains(key, of: snapshot.domain.name) {
                snapshot.values[key] = Self.mask
            }
            return .initial(snapshot)
        case .gap, .bookmark, .ended: return event
        }
    }

    /// Returns a record with the mask in place of the values of sensitive keys.
    mutating func masked(_ record: LogRecord) -> LogRecord {
        guard var changeSet = record.changeSet else { return record }
        let name = changeSet.domain.name
        for index in changeSet.changes.indices where contains(changeSet.changes[index].key, of: name) {
            changeSet.changes[index].old = changeSet.changes[index].old.map { _ in Self.mask }
            changeSet.changes[index].new = changeSet.changes[index].new.map { _ in Self.mask }
        }
        for index in changeSet.overruled.indices where contains(changeSet.overruled[index].key, of: name) {
            changeSet.overruled[index].value = changeSet.overruled[index].value.map { _ in Self.mask }
        }
        var masked = record
        masked.changeSet = changeSet
        return masked
    }

    /// Returns values with the mask in place of those of keys that a manifest doesn't call sensitive, but others do.
    mutating func masked(_ values: DomainValues, beyond manifest: Manifest, of name: DomainName) -> DomainValues {
        values.reduce(into: [:]) { masked, entry in
            let isKnown = manifest.isSensitive(entry.key)
            masked[entry.key] = !isKnown && contains(entry.key, of: name) ? Self.mask : entry.value
        }
    }

    /// Returns a change with the mask in place of the values of a sensitive key.
    mutating func masked(_ change: KeyChange, of domain: Domain) -> KeyChange {
        guard contains(change.key, of: domain.name) else { return change }
        return KeyChange(
            key: change.key, old: change.old.map { _ in Self.mask }, new: change.new.map { _ in Self.mask })
    }
}
