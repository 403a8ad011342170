package import PropertyList

/// A mistake in a manifest, which never makes the rest of it unusable.
package struct ManifestProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The names of the key with the mistake and of those around it; empty for the manifest itself.
    package var path: [String]
    /// The entry, such as `pfm_range_min`; `nil` for the whole.
    package var entry: String?
    /// The mistake, and what would be right; a sentence without a subject or a final period.
    package var message: String

    package init(path: [String], entry: String?, message: String) {
        (self.path, self.entry, self.message) = (path, entry, message)
    }

    /// A sentence with the place and the mistake.
    package var description: String {
        let key = path.isEmpty ? "" : "key \"\(path.joined(separator: "."))\""
        let place = [key, entry ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
        let start = place.isEmpty ? "The manifest" : path.isEmpty ? place : "K\(place.dropFirst())"
        return "\(start) \(message)."
    }
}

extension Manifest {
    /// Reads a manifest; unusable parts are left out, and named.
    ///
    /// - Parameters:
    ///   - value: The property list.
    ///   - keepsTexts: Whether texts and unused entries are kept, which the agent doesn't need.
    /// - Returns: The manifest and its mistakes, in order; no manifest if the value isn't one.
    package static func read(
        _ value: PropertyListValue, keepsTexts: Bool = true
    ) -> (manifest: Manifest?, problems: [ManifestProblem]) {
        var reader = ManifestReader(keepsTexts: keepsTexts)
        let manifest = reader.manifest(value)
        let missing = (manifest?.missingTargets ?? []).map {
            ManifestProblem(
                path: $0.path, entry: nil, message: "has a condition on \"\($0.target)\", which isn't in the manifest")
        }
        return (manifest, reader.problems + missing)
    }
}

/// A reader of one manifest.
private struct ManifestReader {
    let keepsTexts: Bool
    private(set) var problems: [ManifestProblem] = []
    private var path: [String] = []
    /// The number of lists of subkeys of which something was left out, which may have been sensitive.
    private var lostSubkeys = 0
    /// The maximum depth of keys; the deepest public manifest has eight levels.
    private static let maximumDepth = 64
    /// The maximum number of keys; the largest public manifest has 800.
    private static let maximumKeys = 20_000
    private var keyCount = 0
    private static let maximumProblems = 1_000

    init(keepsTexts: Bool) { self.keepsTexts = keepsTexts }

    private mutating func report(_ message: String, in entry: String? = nil) {
        if problems.count >= Self.maximumProblems { return }
        problems.append(ManifestProblem(path: path, entry: entry, message: message))
    }

    mutating func manifest(_ value: PropertyListValue) -> Manifest? {
        guard case .dictionary(let entries) = value else {
            report("is not a dictionary")
            return nil
        }
        var rest = ManifestEntries(entries)
        guard rest.values["pfm_subkeys"] != nil else {
            report("has no pfm_subkeys, the array of its keys")
            return nil
        }
        let keys = subkeys(&rest)
        guard keyCount <= Self.maximumKeys else {
            problems = []
            report("has more than \(Self.maximumKeys) keys")
            return nil
        }
        checkNames(of: keys)
        let domain = text("pfm_domain", &rest)
        let isEnforced = flag("pfm_enforced", &rest)
        return Manifest(domain: domain, texts: texts(&rest), isEnforced: isEnforced, keys: keys)
    }

    // MARK: Keys

    private mutating func subkeys(_ rest: inout ManifestEntries) -> [ManifestKey] {
        guard let value = rest.remove("pfm_subkeys") else { return [] }
        guard case .array(let elements) = value else {
            lostSubkeys += 1
            report("must be an array of dictionaries", in: "pfm_subkeys")
            return []
        }
        guard path.count < Self.maximumDepth else {
            lostSubkeys += 1
            report("has more than \(Self.maximumDepth) levels of keys, so these are left out", in: "pfm_subkeys")
            return []
        }
        return elements.enumerated().compactMap { index, element in
            guard case .dictionary(let entries) = element else {
                lostSubkeys += 1
                report("element \(index + 1) is not a dictionary", in: "pfm_subkeys")
                return nil
            }
            keyCount += 1
            if keyCount > Self.maximumKeys { return nil }
            return key(ManifestEntries(entries), at: index)
        }
    }

    private mutating func key(_ entries: ManifestEntries, at index: Int) -> ManifestKey {
        var rest = entries
        var key = ManifestKey(kind: nil)
        let name = text("pfm_name", &rest)
        key.name = name ?? ""
        path.append(name ?? "\(index + 1)")
        defer { path.removeLast() }
        key.kind = kind(&rest)
        let count = lostSubkeys
        key.subkeys = subkeys(&rest)
        let hasLostSubkeys = lostSubkeys > count
        checkSubkeys(of: key)
        key.isRequired = requirement("pfm_require", &rest)
        readChoices(of: &key, &rest)
        readBounds(of: &key, &rest)
        key.format = format(of: key, &rest)
        key.defaultValue = defaultValue(of: key, &rest)
        key.exclusions = conditions("pfm_exclude", &rest).flatMap(\.self)
        key.requirements = conditions("pfm_conditionals", &rest).filter { !$0.isEmpty }
        key.isHidden = isHidden(&rest)
        key.isSensitive = isSensitive(&rest) || hasLostSubkeys
        if let word = text("pfm_scope", &rest) {
            if let scope = ManifestKey.Scope(rawValue: word) {
                key.scope = scope
            } else {
                report("must be \"roaming\", \"machine\" or \"noise\", not \"\(word)\"", in: "pfm_scope")
            }
        }
        key.texts = texts(&rest)
        return key
    }

    /// Reads whether a key is sensitive; a value that isn't a Boolean counts as true.
    private mutating func isSensitive(_ rest: inout ManifestEntries) -> Bool {
        let value = rest.values["pfm_sensitive"]
        let isSet = flag("pfm_sensitive", &rest)
        if case .boolean? = value { return isSet }
        return value != nil
    }

    /// Reads whether a key is hidden; the public manifests name what is hidden, of which `container` is only a frame.
    private mutating func isHidden(_ rest: inout ManifestEntries) -> Bool {
        switch rest.values["pfm_hidden"] {
        case .string(let word)?:
            _ = rest.remove("pfm_hidden")
            return word != "container"
        default: return flag("pfm_hidden", &rest)
        }
    }

    private mutating func kind(_ rest: inout ManifestEntries) -> ManifestKey.Kind? {
        guard let word = text("pfm_type", &rest) else {
            report("has no pfm_type, so any type is allowed; if that is meant, set it to \"any\"")
            return nil
        }
        if word == "float" { return .real }
        if word == "any" { return nil }
        let kind = ManifestKey.Kind(rawValue: word)
        if kind == nil {
            let names = ManifestKey.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            report("must be one of \(names) or any, not \"\(word)\", so any type is allowed", in: "pfm_type")
        }
        return kind
    }

    private mutating func checkSubkeys(of key: ManifestKey) {
        guard !key.subkeys.isEmpty else { return }
        if key.kind != .array && key.kind != .dictionary {
            report("is only for arrays and dictionaries", in: "pfm_subkeys")
        }
        if key.kind == .dictionary { checkNames(of: key.subkeys) }
    }

    /// Reports names that are missing or not unique in a dictionary.
    mutating func checkNames(of keys: [ManifestKey]) {
        var names: Set<String> = []
        for (index, key) in keys.enumerated() {
            if key.name.isEmpty { report("has no pfm_name in its key \(index + 1)", in: "pfm_subkeys") }
            if !names.insert(key.name).inserted { report("has \"\(key.name)\" more than once", in: "pfm_subkeys") }
        }
    }

    // MARK: Rules

    private mutating func readChoices(of key: inout ManifestKey, _ rest: inout ManifestEntries) {
        key.allowsOtherValues = flag("pfm_range_list_allow_custom_value", &rest)
        key.isBitField = flag("pfm_flags", &rest)
        if key.isBitField, key.kind != .integer {
            report("is only for whole numbers", in: "pfm_flags")
            key.isBitField = false
        }
        let titles = rest.remove("pfm_range_list_titles")
        guard let value = rest.remove("pfm_range_list") else { return }
        guard case .array(let values) = value else {
            report("must be an array", in: "pfm_range_list")
            return
        }
        var words: [String?] = Array(repeating: nil, count: values.count)
        if case .array(let titles)? = titles {
            if titles.count != values.count {
                report("has \(titles.count) titles for \(values.count) values", in: "pfm_range_list_titles")
            }
            for (index, title) in titles.prefix(values.count).enumerated() {
                if case .string(let text) = title { words[index] = text }
            }
        } else if titles != nil {
            report("must be an array of strings", in: "pfm_range_list_titles")
        }
        // The choices of an array are those of its elements.
        for (index, value) in values.enumerated() {
            if let kind = key.kind, kind != .array, !kind.includes(value) {
                report(
                    "has \(value.kind) (\(value.shortText)) for a key of type \(kind.rawValue)", in: "pfm_range_list")
            } else {
                key.choices.append(ManifestKey.Choice(value: value, title: words[index]))
            }
        }
    }

    private mutating func readBounds(of key: inout ManifestKey, _ rest: inout ManifestEntries) {
        key.minimum = bound("pfm_range_min", &rest) ?? bound("pfm_repetition_min", &rest)
        key.maximum = bound("pfm_range_max", &rest) ?? bound("pfm_repetition_max", &rest)
        if let minimum = key.minimum, let maximum = key.maximum, maximum.isLess(than: minimum) {
            report(
                "is \(minimum.shortText), more than the maximum of \(maximum.shortText), so neither is used",
                in: "pfm_range_min")
            (key.minimum, key.maximum) = (nil, nil)
        }
    }

    private mutating func bound(_ entry: String, _ rest: inout ManifestEntries) -> PropertyListValue? {
        guard let value = rest.remove(entry) else { return nil }
        if let number = value.number, !number.isNaN { return value }
        report("must be a number, not \(value.kind) (\(value.shortText))", in: entry)
        return nil
    }

    private mutating func format(of key: ManifestKey, _ rest: inout ManifestEntries) -> Format? {
        guard let pattern = text("pfm_format", &rest) else { return nil }
        do throws(FormatError) {
            let format = try Format(pattern)
            if key.kind == .string { return format }
            report("is only for strings", in: "pfm_format")
        } catch {
            report("can't be used: \(error.message), at character \(error.offset + 1)", in: "pfm_format")
        }
        return nil
    }

    private mutating func defaultValue(of key: ManifestKey, _ rest: inout ManifestEntries) -> PropertyListValue? {
        guard let value = rest.remove("pfm_default") else { return nil }
        // Names and conditions depend on other keys.
        var alone = key
        // An empty text stands for no value.
        if value == "" { alone.format = nil }
        alone.name = key.name.isEmpty ? "default" : key.name
        (alone.exclusions, alone.requirements) = ([], [])
        // There may be thousands of defaults.
        let violations = Manifest(keys: [alone])
            .violations(of: [alone.name], in: [alone.name: value], within: 20_000)
            .filter { $0.rule != .size }
        for violation in violations {
            report(
                "(\(value.shortText)) breaks the key's own rules: \(violation.description.dropLast())",
                in: "pfm_default")
        }
        return violations.contains { $0.rule == .type } ? nil : value
    }

    // MARK: Conditions

    /// Reads whether a key is always required; a requirement of the way by which a profile is installed doesn't count.
    private mutating func requirement(_ entry: String, _ rest: inout ManifestEntries) -> Bool {
        guard let word = text(entry, &rest) else { return false }
        switch word {
        case "always", "always-nested": return true
        case "push": return false
        default:
            report("must be \"always\", \"always-nested\" or \"push\", not \"\(word)\"", in: entry)
            return false
        }
    }

    /// Reads groups of conditions.
    private mutating func conditions(_ entry: String, _ rest: inout ManifestEntries) -> [[Condition]] {
        guard let value = rest.remove(entry) else { return [] }
        guard case .array(let elements) = value else {
            report("must be an array of dictionaries", in: entry)
            return []
        }
        return elements.map { element -> [Condition] in
            guard case .dictionary(let entries) = element, case .array(let targets)? = entries["pfm_target_conditions"]
            else {
                report("must consist of dictionaries with an array pfm_target_conditions", in: entry)
                return []
            }
            // It is for a way of installing profiles. Without the word, a requirement has no effect.
            let word = entries["pfm_require"]
            if word == "push" || word == nil && entry == "pfm_conditionals" { return [] }
            return targets.flatMap { self.conditions(of: $0, entry) }
        }
    }

    private mutating func conditions(of value: PropertyListValue, _ entry: String) -> [Condition] {
        guard case .dictionary(let entries) = value else {
            report("has a condition that is not a dictionary", in: entry)
            return []
        }
        guard case .string(let target)? = entries["pfm_target"] else {
            // Others are about platforms.
            if entries["pfm_platforms"] == nil, entries["pfm_n_platforms"] == nil, entries["pfm_distribution"] == nil {
                report("has a condition without a pfm_target", in: entry)
            }
            return []
        }
        // Keys of other domains aren't looked at.
        if entries["pfm_domain"] != nil { return [] }
        var tests: [Condition.Test] = []
        for (name, value) in entries.sorted(by: { $0.key < $1.key }) {
            switch (name, value) {
            case ("pfm_present", .boolean(let isPresent)): tests.append(.isPresent(isPresent))
            case ("pfm_value_empty", .boolean(let isEmpty)): tests.append(.isEmpty(isEmpty))
            case ("pfm_range_list", .array(let list)): tests.append(.isAmong(list, true))
            case ("pfm_n_range_list", .array(let list)): tests.append(.isAmong(list, false))
            case ("pfm_contains_any", .array(let list)): tests.append(.containsAny(list, true))
            case ("pfm_n_contains_any", .array(let list)): tests.append(.containsAny(list, false))
            case ("pfm_present", _), ("pfm_value_empty", _): report("must have a Boolean for \(name)", in: entry)
            case ("pfm_range_list", _), ("pfm_n_range_list", _), ("pfm_contains_any", _), ("pfm_n_contains_any", _):
                report("must have an array for \(name)", in: entry)
            default: break
            }
        }
        return tests.map { Condition(target: target, test: $0) }
    }

    // MARK: Texts

    private mutating func texts(_ rest: inout ManifestEntries) -> Texts {
        var texts = Texts()
        texts.title = text("pfm_title", &rest)
        texts.description = text("pfm_description", &rest)
        texts.reference = text("pfm_description_reference", &rest)
        texts.note = text("pfm_note", &rest)
        texts.unit = text("pfm_value_unit", &rest)
        texts.other = rest.values
        return keepsTexts ? texts : Texts()
    }

    private mutating func text(_ entry: String, _ rest: inout ManifestEntries) -> String? {
        switch rest.remove(entry) {
        case nil: return nil
        case .string(let text)?: return text
        case let value?:
            report("must be a string, not \(value.kind)", in: entry)
            return nil
        }
    }

    private mutating func flag(_ entry: String, _ rest: inout ManifestEntries) -> Bool {
        switch rest.remove(entry) {
        case nil: return false
        case .boolean(let isSet)?: return isSet
        case let value?:
            report("must be a Boolean, not \(value.kind)", in: entry)
            return false
        }
    }
}

/// The entries of a key that haven't been read.
private struct ManifestEntries {
    private(set) var values: [String: PropertyListValue]

    init(_ values: [String: PropertyListValue]) { self.values = values }

    mutating func remove(_ entry: String) -> PropertyListValue? { values.removeValue(forKey: entry) }
}
