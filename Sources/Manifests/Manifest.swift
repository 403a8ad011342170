package import PropertyList

/// A description of a domain's keys: their types, defaults, limits and texts.
///
/// Its form is Apple's preference manifest, a property list whose entries begin with `pfm_`, as extended by the
/// ProfileManifests project (https://github.com/ProfileManifests/ProfileManifests/wiki/Manifest-Format), with three
/// entries of our own: `pfm_scope`, `pfm_flags` and `pfm_enforced`. The page "Describe preferences" defines all.
package struct Manifest: Sendable, Hashable {
    /// The name or pattern of the domain, as the manifest states it; files are found by their names instead.
    package var domain: String?
    /// The texts about the domain.
    package var texts: Texts
    /// Whether the agent refuses edits that break the manifest, if only root can have installed it.
    package var isEnforced: Bool
    /// The domain as a dictionary.
    package private(set) var root: ManifestKey
    /// The positions of the keys by their names.
    private var positions: [String: Int] = [:]
    /// The positions of the keys with conditions, by the names of the keys on which they depend.
    private var dependents: [String: [Int]] = [:]
    /// The positions of the keys inside which a condition is about another key of the domain.
    private var outward: Set<Int> = []
    /// The keys with conditions on keys that the manifest doesn't have.
    private(set) var missingTargets: [MissingTarget] = []

    /// A condition on a key that the manifest doesn't have.
    struct MissingTarget: Sendable, Hashable {
        /// The names of the key with the condition, and those around it.
        var path: [String]
        var target: String
    }

    package init(domain: String? = nil, texts: Texts = Texts(), isEnforced: Bool = false, keys: [ManifestKey] = []) {
        (self.domain, self.texts, self.isEnforced) = (domain, texts, isEnforced)
        root = ManifestKey(kind: .dictionary)
        root.subkeys = keys
        missingTargets = root.resolveConditions()
        for (position, key) in root.subkeys.enumerated() {
            for name in key.conditionTargets(at: 0).subtracting([key.name]) {
                dependents[name, default: []].append(position)
            }
            if key.subkeys.contains(where: { $0.looksOutside(at: 1) }) { outward.insert(position) }
            if let first = positions[key.name] {
                // Neither may show a secret of the other.
                if key.containsSensitive { root.subkeys[first].isSensitive = true }
            } else {
                positions[key.name] = position
            }
        }
    }

    /// The keys, in the manifest's order, without those that stand for any key.
    package var keys: [ManifestKey] { root.fixedSubkeys }

    /// Returns a key by its name, or what describes all keys that aren't named; `nil` if the manifest has neither.
    package func key(named name: String) -> ManifestKey? {
        let position = ManifestKey.isFree(name) ? nil : positions[name]
        return (position ?? positions[ManifestKey.freeValue]).map { root.subkeys[$0] }
    }

    /// The names of the entries that are used.
    package static let entryNames = [
        "pfm_conditionals", "pfm_default", "pfm_description", "pfm_description_reference", "pfm_domain", "pfm_enforced",
        "pfm_exclude", "pfm_flags", "pfm_format", "pfm_hidden", "pfm_name", "pfm_note", "pfm_range_list",
        "pfm_range_list_allow_custom_value", "pfm_range_list_titles", "pfm_range_max", "pfm_range_min",
        "pfm_repetition_max", "pfm_repetition_min", "pfm_require", "pfm_scope", "pfm_sensitive", "pfm_subkeys",
        "pfm_title", "pfm_type", "pfm_value_unit",
    ]

    /// Finds what describes a key, or an entry of a dictionary, such as "Proxy.Port"; `nil` if nothing does.
    ///
    /// - Parameter text: The names, with dots between them; they may have dots themselves.
    /// - Returns: The description, and the names.
    package func key(at text: String) -> (key: ManifestKey, path: [String])? {
        func find(_ rest: Substring, in keys: [ManifestKey]) -> (key: ManifestKey, path: [String])? {
            if let key = keys.first(where: { $0.name == rest && !ManifestKey.isFree($0.name) }) {
                return (key, [key.name])
            }
            for outer in keys where outer.kind == .dictionary && rest.hasPrefix("\(outer.name).") {
                guard let found = find(rest.dropFirst(outer.name.count + 1), in: outer.fixedSubkeys) else { continue }
                var key = found.key
                key.isSensitive = key.isSensitive || outer.isSensitive
                return (key, [outer.name] + found.path)
            }
            return nil
        }
        // Names with dots allow many ways to split the text.
        let parts = text.utf8.count { $0 == UInt8(ascii: ".") } + 1
        return parts <= Condition.maximumParts ? find(text[...], in: keys) : nil
    }

    /// Returns whether the check of keys needs the values of others.
    package func needsOthers(for keys: some Sequence<String>) -> Bool {
        !conditionalPositions(of: keys).isEmpty
            || !outward.isEmpty
                && keys.contains { (positions[$0] ?? positions[ManifestKey.freeValue]).map(outward.contains) == true }
    }

    /// Returns the positions of the keys whose conditions must be checked after some keys have changed.
    func conditionalPositions(of keys: some Sequence<String>) -> [Int] {
        var found: Set<Int> = []
        for key in keys {
            found.formUnion(dependents[key] ?? [])
            if let position = positions[key], root.subkeys[position].hasConditions { found.insert(position) }
        }
        return found.sorted()
    }

    /// The rules for the names of keys that the manifest doesn't list; `nil` if there are none.
    var freeKey: ManifestKey? { positions[ManifestKey.freeKey].map { root.subkeys[$0] } }

    /// The defaults of the keys that have one.
    package var defaults: [String: PropertyListValue] {
        Dictionary(keys.compactMap { key in key.effectiveDefault.map { (key.name, $0) } }) { first, _ in first }
    }

    /// Returns the values that are settings for all machines: described, and neither machine, noise nor sensitive.
    package func settings(of values: [String: PropertyListValue]) -> [String: PropertyListValue] {
        root.settings(of: values)
    }

    /// Returns whether a key is sensitive, or contains something that is.
    package func isSensitive(_ key: String) -> Bool { self.key(named: key)?.containsSensitive == true }

    /// The names of the keys that are sensitive, or contain something that is; with `freeValue`, all others are, too.
    package var sensitiveKeys: [String] {
        root.subkeys.filter { $0.name != ManifestKey.freeKey && $0.containsSensitive }.map(\.name)
    }
}

/// The description of a key, of the elements of an array, or of the values of a dictionary.
package struct ManifestKey: Sendable, Hashable {
    /// The name; for the elements of an array, often empty.
    package var name = ""
    /// The type of the values; `nil` for any.
    package var kind: Kind?
    package var texts = Texts()
    /// The value that the app uses if the key has none.
    package var defaultValue: PropertyListValue?
    /// Whether the key may not be missing.
    package var isRequired = false
    /// The entries of a dictionary, or the elements of an array: one for all, or one for each place, of which the last
    /// also describes those that follow.
    package var subkeys: [ManifestKey] = []
    /// The values to choose from; if there are none, any are allowed.
    package var choices: [Choice] = []
    /// Whether values other than the choices are allowed.
    package var allowsOtherValues = false
    /// Whether the value is a sum of choices.
    package var isBitField = false
    /// The bounds of a number, of a text's length in code points, or of the number of bytes, elements or entries.
    package var minimum: PropertyListValue?, maximum: PropertyListValue?
    /// The regular expression that a text must match.
    package var format: Format?
    /// The conditions of which each makes the key have no effect.
    package var exclusions: [Condition] = []
    /// The groups of conditions of which each makes the key required if all of them hold.
    package var requirements: [[Condition]] = []
    /// Whether the key isn't meant for people.
    package var isHidden = false
    /// Whether the value is secret.
    package var isSensitive = false
    package var scope = Scope.roaming

    /// A type of values.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case string, integer, real, boolean, date, data, array, dictionary
    }

    /// A kind of state.
    package enum Scope: String, Sendable, Hashable, CaseIterable {
        /// A setting that a person would want on all machines.
        case roaming
        /// A setting that depends on the machine, such as a path or a window's position.
        case machine
        /// Not a setting, but what the app remembers, such as a cache or the time of the last check.
        case noise
    }

    /// A value to choose.
    package struct Choice: Sendable, Hashable {
        package var value: PropertyListValue
        package var title: String?

        package init(value: PropertyListValue, title: String? = nil) { (self.value, self.title) = (value, title) }
    }

    package init(_ name: String = "", kind: Kind?) { (self.name, self.kind) = (name, kind) }

    /// The names of the entries of a dictionary that describe any of its keys and values.
    package static let freeKey = "{{key}}"
    package static let freeValue = "{{value}}"

    /// Returns whether a name in a manifest stands for any key.
    package static func isFree(_ name: String) -> Bool { name == freeKey || name == freeValue }

    /// The named subkeys, without wildcards.
    package var fixedSubkeys: [ManifestKey] { subkeys.filter { !Self.isFree($0.name) } }

    /// Whether a dictionary may have keys that the manifest doesn't name.
    package var allowsAnyKey: Bool {
        subkeys.isEmpty || subkeys.contains { $0.name == Self.freeKey || $0.name == Self.freeValue }
    }

    /// Returns what describes an entry of a dictionary; `nil` if nothing does.
    func subkey(named name: String) -> ManifestKey? {
        let named = Self.isFree(name) ? nil : subkeys.first { $0.name == name }
        return named ?? subkeys.first { $0.name == Self.freeValue }
    }

    /// Returns what describes an element of an array; `nil` if nothing does.
    func element(at index: Int) -> ManifestKey? {
        subkeys.indices.contains(index) ? subkeys[index] : subkeys.last
    }

    /// The default, or a dictionary of the defaults of the subkeys.
    package var effectiveDefault: PropertyListValue? {
        if let defaultValue { return defaultValue }
        guard kind == .dictionary else { return nil }
        let defaults = fixedSubkeys.compactMap { key in key.effectiveDefault.map { (key.name, $0) } }
        return defaults.isEmpty ? nil : .dictionary(Dictionary(defaults) { first, _ in first })
    }

    fileprivate func settings(of values: [String: PropertyListValue]) -> [String: PropertyListValue] {
        let hidesNames = subkeys.contains { $0.name == Self.freeKey && $0.isSensitive }
        return values.reduce(into: [:]) { settings, entry in
            let key = subkey(named: entry.key)
            if hidesNames, key == nil || key?.name == Self.freeValue { return }
            settings[entry.key] = key?.setting(entry.value)
        }
    }

    /// Returns the part of a value that is a setting for all machines; `nil` if nothing is.
    private func setting(_ value: PropertyListValue) -> PropertyListValue? {
        if scope != .roaming || isSensitive { return nil }
        // Secret parts can't be found in a value of another type.
        if containsSensitive, kind?.includes(value) != true { return nil }
        switch value {
        case .dictionary(let entries) where !subkeys.isEmpty:
            return .dictionary(settings(of: entries))
        case .array(let elements):
            let kept = elements.enumerated().map { index, element in
                self.element(at: index).map { $0.setting(element) } ?? element
            }
            // Elements with fixed places can't move up.
            if subkeys.count > 1, kept.contains(nil) { return nil }
            return .array(kept.compactMap(\.self))
        default: return value
        }
    }

    var hasConditions: Bool { !exclusions.isEmpty || !requirements.isEmpty }

    /// Whether the key is sensitive, or contains something that is.
    package var containsSensitive: Bool { isSensitive || subkeys.contains(where: \.containsSensitive) }
}

/// Texts for people, and everything else that no rule depends on.
package struct Texts: Sendable, Hashable {
    /// A short name.
    package var title: String?
    package var description: String?
    /// The description in the words of the app's documentation.
    package var reference: String?
    package var note: String?
    /// The unit of a number.
    package var unit: String?
    /// The entries that aren't used, as they are in the manifest.
    package var other: [String: PropertyListValue] = [:]

    package init() {}
}
