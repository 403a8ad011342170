import DefaultsCore
import Manifests
import PropertyList

/// The text and JSON forms of a manifest's keys.
struct ManifestText {
    let manifest: Manifest
    /// The values that an app finds.
    let values: DomainValues
    let style: ChangeText

    /// Returns a line for each key: its name, what it may be, and its value.
    func list() -> String {
        let keys = Self.entries(manifest.keys)
        let names = keys.map { $0.path.joined(separator: ".").printable }
        let rules = keys.map { Self.shortened(Self.rule(of: $0.key)) }
        let (width, ruleWidth) = (names.map(\.count).max() ?? 0, rules.map(\.count).max() ?? 0)
        return zip(keys, zip(names, rules)).map { entry, texts in
            style.colored(texts.0.padded(to: width), in: .bold) + "  \(texts.1.padded(to: ruleWidth))  "
                + state(of: entry.key, at: entry.path) + "\n"
        }.joined()
    }

    /// Returns the keys for people and the ways to them, with the entries of dictionaries instead of these.
    private static func entries(_ keys: [ManifestKey]) -> [(path: [String], key: ManifestKey)] {
        keys.filter { !$0.isHidden }.flatMap { key -> [(path: [String], key: ManifestKey)] in
            let inner = key.kind == .dictionary && !key.isSensitive ? entries(key.fixedSubkeys) : []
            return inner.isEmpty ? [([key.name], key)] : inner.map { ([key.name] + $0.path, $0.key) }
        }
    }

    /// Returns the value of a key, or of an entry of its dictionary; `nil` if there is none.
    static func value(at path: [String], in values: DomainValues) -> PropertyListValue? {
        path.dropFirst().reduce(path.first.flatMap { values[$0] }) { value, name in
            if case .dictionary(let entries) = value { entries[name] } else { nil }
        }
    }

    /// Returns what a value, or what is inside it, breaks.
    static func violations(at path: [String], of manifest: Manifest, in values: DomainValues) -> [Violation] {
        let inner = path.dropFirst().map { Violation.Step.name($0) }
        return manifest.violations(of: path.prefix(1), in: values).filter {
            $0.key == path.first && $0.path.starts(with: inner)
        }
    }

    /// Returns everything about a key, and the keys in it.
    func details(of key: ManifestKey, named name: String) -> String {
        var lines = [style.colored(name.printable, in: .bold) + (key.texts.title.map { "  \($0.printable)" } ?? "")]
        for text in [key.texts.description, key.texts.reference, key.texts.note].compactMap(\.self) {
            lines += ["", "  \(text.printable)"]
        }
        lines += ["", "  type       \(Self.rule(of: key))"]
        for choice in key.choices where choice.title != nil {
            lines.append("             \(choice.value.shortText.printable): \((choice.title ?? "").printable)")
        }
        if let format = key.format { lines.append("  format     \(format.pattern.printable)") }
        if let value = key.effectiveDefault { lines.append("  default    \(shown(value, of: key))") }
        let path = manifest.key(at: name)?.path ?? [name]
        lines.append("  value      \(Self.value(at: path, in: values).map { shown($0, of: key) } ?? "none")")
        var marks: [String] = []
        if key.isRequired { marks.append("required") }
        if key.isSensitive { marks.append("sensitive: not shown, and not in the history") }
        if key.scope == .machine { marks.append("depends on the machine") }
        if key.scope == .noise { marks.append("not a setting, but what the app remembers") }
        lines += marks.map { "  is         \($0)" }
        for violation in Self.violations(at: path, of: manifest, in: values) {
            lines.append("  " + style.colored(violation.description.printable, in: .yellow))
        }
        let subkeys = subkeyLines(of: key, indent: 4)
        if !subkeys.isEmpty { lines += ["", "  \(key.kind == .array ? "elements" : "keys")"] + subkeys }
        return lines.joined(separator: "\n") + "\n"
    }

    private func subkeyLines(of key: ManifestKey, indent: Int) -> [String] {
        key.subkeys.filter { $0.name != ManifestKey.freeKey }.flatMap { subkey in
            let name = key.kind == .array ? "" : subkey.name == ManifestKey.freeValue ? "any key  " : "\(subkey.name)  "
            let title = subkey.texts.title.map { "  \($0)" } ?? ""
            let line = String(repeating: " ", count: indent) + "\(name)\(Self.rule(of: subkey))\(title)".printable
            return [line] + subkeyLines(of: subkey, indent: indent + 2)
        }
    }

    private func state(of key: ManifestKey, at path: [String]) -> String {
        if let value = Self.value(at: path, in: values) { return style.colored(shown(value, of: key), in: .green) }
        if key.containsSensitive { return "" }
        return key.effectiveDefault.map { style.colored("(\(shown($0, of: key)))", in: .dim) } ?? ""
    }

    private func shown(_ value: PropertyListValue, of key: ManifestKey) -> String {
        key.containsSensitive ? "(sensitive)" : style.shown(value)
    }

    private static func shortened(_ text: String) -> String { text.count > 60 ? "\(text.prefix(59))…" : text }

    /// Returns what values of a key may be, such as `integer, 6 to 72 points`.
    static func rule(of key: ManifestKey) -> String {
        var rule = key.kind?.rawValue ?? "any type"
        if key.isBitField { rule = "flags" }
        if !key.choices.isEmpty {
            let names = key.choices.map { $0.value.shortText }
            let words = key.isBitField ? zip(key.choices, names).map { $0.title ?? $1 } : names
            rule += ": " + words.joined(separator: ", ") + (key.allowsOtherValues ? ", or another" : "")
        }
        let range: String? =
            switch (key.minimum?.shortText, key.maximum?.shortText) {
            case (let minimum?, let maximum?): minimum == maximum ? minimum : "\(minimum) to \(maximum)"
            case (let minimum?, nil): "at least \(minimum)"
            case (nil, let maximum?): "at most \(maximum)"
            case (nil, nil): nil
            }
        if let range {
            let unit: String? =
                switch key.kind {
                case .string: "characters"
                case .data: "bytes"
                case .array: "elements"
                case .dictionary: "keys"
                default: key.texts.unit
                }
            rule += ", " + range + (unit.map { " \($0)" } ?? "")
        } else if let unit = key.texts.unit {
            rule += ", in \(unit)"
        }
        return rule.printable
    }

    // MARK: JSON

    /// Returns the entries of a key's JSON object; with subkeys, to any depth.
    static func json(_ key: ManifestKey, value: PropertyListValue? = nil) -> DomainValues {
        func inner(_ subkey: ManifestKey) -> ManifestKey {
            var subkey = subkey
            subkey.isSensitive = subkey.isSensitive || key.isSensitive
            return subkey
        }
        var entries: DomainValues = [
            "key": .string(key.name), "type": .string(key.kind?.rawValue ?? "any"), "rule": .string(rule(of: key)),
        ]
        entries["title"] = key.texts.title.map { .string($0) }
        entries["description"] = key.texts.description.map { .string($0) }
        entries["reference"] = key.texts.reference.map { .string($0) }
        entries["note"] = key.texts.note.map { .string($0) }
        entries["unit"] = key.texts.unit.map { .string($0) }
        entries["default"] = key.effectiveDefault
        entries["minimum"] = key.minimum
        entries["maximum"] = key.maximum
        entries["format"] = key.format.map { .string($0.pattern) }
        entries["scope"] = .string(key.scope.rawValue)
        entries["value"] = key.containsSensitive ? value.map { _ in SensitiveKeys.mask } : value
        if !key.choices.isEmpty {
            entries["choices"] = .array(
                key.choices.map { choice in
                    var fields: DomainValues = ["value": choice.value]
                    fields["title"] = choice.title.map { .string($0) }
                    return .dictionary(fields)
                })
        }
        for (name, isSet) in [
            ("required", key.isRequired), ("hidden", key.isHidden), ("sensitive", key.containsSensitive),
            ("flags", key.isBitField), ("custom", key.allowsOtherValues),
        ] where isSet { entries[name] = true }
        if !key.subkeys.isEmpty { entries["subkeys"] = .array(key.subkeys.map { .dictionary(json(inner($0))) }) }
        return entries
    }
}
