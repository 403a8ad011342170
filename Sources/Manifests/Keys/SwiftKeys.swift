import PropertyList

/// The typed keys of a manifest as Swift source that uses DefaultsKit.
package struct SwiftKeys {
    private let manifest: Manifest
    private let domain: String
    /// The name of the type that has the keys.
    private let type: String

    /// Creates the keys of a domain.
    ///
    /// - Parameters:
    ///   - manifest: The domain's manifest.
    ///   - domain: The domain's name.
    ///   - others: The names of domains whose keys are in the same module, and have other types.
    package init(_ manifest: Manifest, of domain: String, beside others: some Sequence<String> = []) {
        (self.manifest, self.domain) = (manifest, domain)
        let name = Identifier.distinctPart(of: domain, beside: others)
        type = Identifier.type(name) + "Preferences"
    }

    /// Returns the source.
    package func source() -> String {
        var names = Identifier.Uniqueness([
            "domain", "OutOfRange", "Any", "Bool", "CaseIterable", "CustomStringConvertible", "Data", "Date",
            "DefaultsKey",
            "DefaultsValue", "Double", "Error", "Int", "PropertyListValue", "Protocol", "Self", "Sendable", "String",
            "Type", "UserDefaults",
        ])
        let keys = manifest.keys.filter { !$0.name.isEmpty }.map { key in
            let name = names.name(Identifier.member(key.name))
            let plain = name.filter { $0 != "`" }
            let setter = hasRange(key) ? names.name("set\(plain.prefix(1).uppercased())\(plain.dropFirst())") : ""
            return (key: key, name: name, type: names.name(Identifier.type(key.name)), setter: setter)
        }
        let members = keys.flatMap { member($0.key, named: $0.name, type: $0.type, setter: $0.setter) }
        var lines = ["// Generated from the manifest of \(oneLine(domain)). Do not edit.", "import DefaultsKit"]
        if keys.contains(where: { Self.type(of: $0.key).contains("Dat") }) {
            // All of Foundation has a class named UserDefaults, too.
            lines += [
                "", "#if canImport(FoundationEssentials)", "import FoundationEssentials", "#else", "import Foundation",
                "#endif",
            ]
        }
        lines += ["", "/// \(oneLine(manifest.texts.title ?? "Preferences")), in the domain `\(oneLine(domain))`."]
        lines += paragraph(manifest.texts.description, indent: "") + ["enum \(type) {"]
        lines += ["    /// The name of the domain.", "    static let domain = \(literal(domain))"] + members
        if keys.contains(where: { !$0.setter.isEmpty }) {
            lines += [
                "", "    /// A value that its key doesn't allow.",
                "    struct OutOfRange: Error, CustomStringConvertible {",
                "        /// The key, and the values that it allows.", "        let key, range: String", "",
                "        var description: String { \"\\(key) must be \\(range).\" }", "    }",
            ]
        }
        return (lines + ["}", ""]).joined(separator: "\n")
    }

    private func member(_ key: ManifestKey, named name: String, type: String, setter: String) -> [String] {
        var lines: [String] = []
        var valueType = Self.type(of: key)
        var value = key.defaultValue.flatMap { literal($0, of: key) }
        if let cases = cases(of: key) {
            valueType = type
            let raw = key.kind == .integer ? "Int" : "String"
            lines += [
                "", "    /// A value of `\(oneLine(key.name))`.",
                "    enum \(type): \(raw), CaseIterable, Sendable, DefaultsValue {",
            ]
            for (choice, name) in cases {
                if let title = choice.title { lines.append("        /// \(oneLine(title))") }
                lines.append("        case \(name) = \(literal(choice.value, of: key) ?? "")")
            }
            lines.append("    }")
            value = cases.first { $0.choice.value == key.defaultValue }.map { ".\($0.name)" }
        }
        lines += ["", "    /// \(sentence(key.texts.title ?? key.name))\(rule(of: key))."]
        lines += paragraph(key.texts.description, indent: "    ") + paragraph(key.texts.note, indent: "    ")
        let declared = value == nil ? "\(valueType)?" : valueType
        let arguments = [literal(key.name), value.map { "default: \($0)" }, allowedRange(of: key), domainArgument]
            .compactMap(\.self).joined(separator: ", ")
        lines.append("    static let \(name) = DefaultsKey<\(declared)>(\(arguments))")
        if !setter.isEmpty { lines += self.setter(setter, of: key, named: name, type: valueType) }
        return lines
    }

    /// The argument for the keys' domain; `nil` if the manifest is that of a pattern, and so of many domains.
    private var domainArgument: String? { domain.contains { $0 == "*" || $0 == "?" } ? nil : "domain: domain" }

    private func setter(_ setter: String, of key: ManifestKey, named name: String, type: String) -> [String] {
        let range = range(of: key)
        let (minimum, maximum) = bounds(of: key)
        let condition = [minimum.map { "newValue >= \($0)" }, maximum.map { "newValue <= \($0)" }].compactMap(\.self)
            .joined(separator: ", ")
        return [
            "", "    /// Sets `\(oneLine(key.name))`.", "    ///",
            "    /// - Throws: `OutOfRange` unless the value is \(range).",
            "    static func \(setter)(",
            "        _ newValue: \(type), with defaults: UserDefaults = .standard",
            "    ) throws(OutOfRange) {",
            "        guard \(condition) else { throw OutOfRange(key: \(literal(key.name)), range: \(literal(range))) }",
            "        defaults[Self.\(name)] = newValue",
            "    }",
        ]
    }

    /// Returns the argument for a number's range; `nil` without a range that Swift can express.
    private func allowedRange(of key: ManifestKey) -> String? {
        guard hasRange(key) else { return nil }
        let (minimum, maximum) = bounds(of: key)
        func isFinite(_ bound: PropertyListValue?) -> Bool { bound?.number?.isFinite ?? true }
        guard isFinite(key.minimum), isFinite(key.maximum) else { return nil }
        // Swift's ranges can't be empty, and their bounds can't be in the wrong order.
        if let low = key.minimum?.number, let high = key.maximum?.number, low > high { return nil }
        func bound(_ text: String?) -> String { text.map { $0.hasPrefix("-") ? "(\($0))" : $0 } ?? "" }
        return "in: \(bound(minimum))...\(bound(maximum))"
    }

    private func hasRange(_ key: ManifestKey) -> Bool {
        let (minimum, maximum) = bounds(of: key)
        return (minimum ?? maximum) != nil && cases(of: key) == nil
    }

    /// Returns the bounds of a number as literals; none that every value is within.
    private func bounds(of key: ManifestKey) -> (minimum: String?, maximum: String?) {
        switch key.kind {
        case .real: return (key.minimum.map(number), key.maximum.map(number))
        case .integer:
            func whole(_ bound: PropertyListValue?, _ rule: FloatingPointRoundingRule) -> String? {
                if case .integer(let number)? = bound { return "\(number)" }
                return bound?.number.flatMap { Int64(exactly: $0.rounded(rule)) }.map { "\($0)" }
            }
            return (whole(key.minimum, .up), whole(key.maximum, .down))
        default: return (nil, nil)
        }
    }

    private func range(of key: ManifestKey) -> String {
        switch bounds(of: key) {
        case (let minimum?, let maximum?): "\(minimum) to \(maximum)"
        case (let minimum?, nil): "at least \(minimum)"
        case (nil, let maximum?): "at most \(maximum)"
        case (nil, nil): ""
        }
    }

    private func rule(of key: ManifestKey) -> String {
        let unit = key.texts.unit.map { " \(oneLine($0))" } ?? ""
        return hasRange(key) ? ": \(range(of: key))\(unit)" : unit.isEmpty ? "" : ", in\(unit)"
    }

    /// Returns the cases of an enumeration; `nil` if the key has no list, or allows other values.
    private func cases(of key: ManifestKey) -> [(choice: ManifestKey.Choice, name: String)]? {
        guard key.kind == .string || key.kind == .integer, !key.choices.isEmpty, !key.allowsOtherValues, !key.isBitField
        else { return nil }
        // Their raw values are of the type Int.
        let areRepresentable = key.choices.allSatisfy { if case .unsigned = $0.value { false } else { true } }
        guard areRepresentable else { return nil }
        var names = Identifier.Uniqueness(["allCases", "hashValue", "rawValue"])
        var values: [PropertyListValue] = []
        return key.choices.compactMap { choice in
            // Raw values must be unique, too.
            if values.contains(choice.value) { return nil }
            values.append(choice.value)
            let text = key.kind == .string ? choice.value.plainText : choice.title ?? choice.value.shortText
            return (choice, names.name(Identifier.member(text.isEmpty ? "none" : text)))
        }
    }

    private static func type(of key: ManifestKey) -> String {
        switch key.kind {
        case .string: "String"
        case .integer: "Int"
        case .real: "Double"
        case .boolean: "Bool"
        case .date: "Date"
        case .data: "Data"
        case .array:
            // Arrays with places for values of different types have no type of their own.
            key.subkeys.count == 1 ? "[\(type(of: key.subkeys[0]))]" : "PropertyListValue"
        case .dictionary:
            key.subkeys.first { $0.name == ManifestKey.freeValue }.map { "[String: \(type(of: $0))]" }
                ?? "PropertyListValue"
        case nil: "PropertyListValue"
        }
    }

    /// Returns a default as source; `nil` if it can't be written as a literal.
    private func literal(_ value: PropertyListValue, of key: ManifestKey) -> String? {
        switch value {
        case .string(let text): return literal(text)
        case .integer, .real, .real32:
            return value.number?.isFinite == false && key.kind != .real ? nil : number(value)
        // It is beyond Int.
        case .unsigned: return nil
        case .boolean(let isTrue): return isTrue ? "true" : "false"
        case .array(let elements):
            let values = elements.enumerated().map { index, element in
                key.element(at: index).flatMap { literal(element, of: $0) }
            }
            return values.contains(nil) ? nil : "[\(values.compactMap(\.self).joined(separator: ", "))]"
        case .dictionary, .date, .data, .uid: return nil
        }
    }

    private func literal(_ text: String) -> String { Identifier.literal(text) { "\\u{\(String($0, radix: 16))}" } }

    private func number(_ value: PropertyListValue) -> String {
        if let number = value.number, !number.isFinite {
            return number.isNaN ? ".nan" : number < 0 ? "-.infinity" : ".infinity"
        }
        return value.shortText
    }

    private func paragraph(_ text: String?, indent: String) -> [String] {
        text.map { ["\(indent)///"] + Identifier.wrapped($0, width: 116 - indent.count).map { "\(indent)/// \($0)" } }
            ?? []
    }

    /// Returns a text as one line without a period at its end.
    private func sentence(_ text: String) -> String {
        let line = oneLine(text)
        return line.hasSuffix(".") ? String(line.dropLast()) : line
    }

    private func oneLine(_ text: String) -> String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}
