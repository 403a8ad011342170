import PropertyList

/// The typed keys of a manifest as a Python module that uses the package `defaultsd`.
package struct PythonKeys {
    private let manifest: Manifest
    private let domain: String

    /// Creates the keys of a domain.
    package init(_ manifest: Manifest, of domain: String) { (self.manifest, self.domain) = (manifest, domain) }

    /// Returns the source.
    package func source() -> String {
        let type = Identifier.type(Identifier.lastPart(of: domain)) + "Preferences"
        var names = Identifier.Uniqueness([
            "bool", "bytes", "datetime", "defaults", "dict", "float", "getattr", "int", "isinstance", "list", "object",
            "str", "super", "timezone", "type",
        ])
        var aliases = Identifier.Uniqueness([
            "Any", "Callable", "Defaults", "False", "Final", "Key", "Literal", "None", "True", "TypeError",
            "ValueError", type,
        ])
        var lines = [
            "\"\"\"Preferences of \(comment(domain)), generated from its manifest. Do not edit.\"\"\"", "",
            "from __future__ import annotations", "", "from collections.abc import Callable",
            "from datetime import datetime, timezone", "from typing import Any, Final, Literal", "",
            "from defaultsd import Defaults, Key", "",
        ]
        var body: [String] = []
        var rules: [String] = []
        // A key whose values may have any type has none in Python.
        for key in manifest.keys where !key.name.isEmpty && key.kind != nil {
            let name = python(names.name(Identifier.snake(key.name)))
            var type = Self.annotation(of: key)
            if let list = list(of: key) {
                type = python(aliases.name(Identifier.type(key.name)))
                lines.append("\(type) = Literal[\(list)]")
            }
            let value = key.defaultValue.flatMap { literal($0) }
            let declared = value == nil ? "\(type) | None" : type
            let argument = value.map { ", default=\($0)" } ?? ""
            // The values of a key with a list are any of the type, as far as Python knows.
            let mark = list(of: key) == nil ? "" : "  # type: ignore"
            body += [
                "", "    \(name): Key[\(declared)] = Key(\(text(key.name)), \(Self.type(of: key))\(argument))\(mark)",
                "    \"\"\"\(documentation(of: key))\"\"\"",
            ]
            if let rule = rule(of: key) { rules.append("        \(text(key.name)): \(rule),") }
        }
        lines +=
            [
                "", "class \(type):", "    \"\"\"\(comment(manifest.texts.title ?? "Preferences")).\"\"\"", "",
                "    DOMAIN: Final = \(text(domain))",
            ] + body + [
                "", "    __slots__ = (\"defaults\",)", "",
                "    _RULES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {",
            ] + rules + [
                "    }", "", "    def __init__(self, defaults: Defaults | None = None) -> None:",
                "        self.defaults = defaults if defaults is not None else Defaults(self.DOMAIN)", "",
                "    def __setattr__(self, name: str, value: object) -> None:",
                "        \"\"\"Set a key; raises `TypeError` or `ValueError` for a value that it doesn't allow.\"\"\"",
                "        key = getattr(type(self), name, None)",
                "        if isinstance(key, Key) and value is not None:",
                "            allowed = (int, float) if key.type is float else key.type",
                "            if not isinstance(value, allowed) or isinstance(value, bool) and key.type is not bool:",
                "                wanted = f\"{key.name} must be of the type {key.type.__name__}\"",
                "                raise TypeError(f\"{wanted}, not {value!r}.\")",
                "            rule = self._RULES.get(key.name)",
                "            if rule is not None and not rule[0](value):",
                "                raise ValueError(f\"{key.name} must be {rule[1]}, not {value!r}.\")",
                "        super().__setattr__(name, value)", "",
            ]
        return lines.joined(separator: "\n")
    }

    private func documentation(of key: ManifestKey) -> String {
        let texts = [key.texts.title, key.texts.description].compactMap(\.self).map(comment)
        let all = texts.isEmpty ? comment(key.name) : texts.joined(separator: ": ")
        let end = all.hasSuffix(".") ? "" : "."
        return Identifier.wrapped(all + end, width: 110).joined(separator: "\n    ")
    }

    /// Returns a function that checks a value, with what it allows.
    private func rule(of key: ManifestKey) -> String? {
        if let list = list(of: key) { return "(lambda value: value in (\(list),), \(text("one of \(list)")))" }
        guard key.kind == .integer || key.kind == .real else { return nil }
        switch (key.minimum.map(number), key.maximum.map(number)) {
        case (let minimum?, let maximum?):
            return "(lambda value: \(minimum) <= value <= \(maximum), \(text("\(minimum) to \(maximum)")))"
        case (let minimum?, nil): return "(lambda value: value >= \(minimum), \(text("at least \(minimum)")))"
        case (nil, let maximum?): return "(lambda value: value <= \(maximum), \(text("at most \(maximum)")))"
        case (nil, nil): return nil
        }
    }

    /// Returns the values to choose from; `nil` if there is no list of them, or others are allowed.
    private func list(of key: ManifestKey) -> String? {
        guard key.kind == .string || key.kind == .integer, !key.choices.isEmpty, !key.allowsOtherValues, !key.isBitField
        else { return nil }
        return key.choices.compactMap { literal($0.value) }.joined(separator: ", ")
    }

    private static func annotation(of key: ManifestKey) -> String {
        switch key.kind {
        case .array: "list[Any]"
        case .dictionary: "dict[str, Any]"
        default: type(of: key)
        }
    }

    private static func type(of key: ManifestKey) -> String {
        switch key.kind {
        case .string, nil: "str"
        case .integer: "int"
        case .real: "float"
        case .boolean: "bool"
        case .date: "datetime"
        case .data: "bytes"
        case .array: "list"
        case .dictionary: "dict"
        }
    }

    private func literal(_ value: PropertyListValue) -> String? {
        switch value {
        case .string(let string): return text(string)
        case .integer, .unsigned, .real, .real32: return number(value)
        case .boolean(let isTrue): return isTrue ? "True" : "False"
        case .data(let bytes): return "bytes(\(bytes.map(Int.init)))"
        case .array(let elements):
            let values = elements.map(literal)
            return values.contains(nil) ? nil : "[\(values.compactMap(\.self).joined(separator: ", "))]"
        case .dictionary(let entries):
            let values = entries.sorted { $0.key < $1.key }.map { key, value in
                literal(value).map { "\(text(key)): \($0)" }
            }
            return values.contains(nil) ? nil : "{\(values.compactMap(\.self).joined(separator: ", "))}"
        case .date(let date):
            return date.secondsSinceReferenceDate.isFinite
                ? "datetime.fromtimestamp(\(date.secondsSinceReferenceDate + 978_307_200), timezone.utc)" : nil
        case .uid: return nil
        }
    }

    private func number(_ value: PropertyListValue) -> String {
        if let number = value.number, !number.isFinite { return "float(\"\(number)\")" }
        return value.shortText
    }

    private func text(_ text: String) -> String {
        Identifier.literal(text) { "\\U" + String(String(UInt64($0) + 0x1_0000_0000, radix: 16).dropFirst()) }
    }

    private func comment(_ text: String) -> String {
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return String(String.UnicodeScalarView(words.unicodeScalars.map { $0 == "\\" || $0 == "\"" ? "'" : $0 }))
    }

    /// Returns a name that isn't a word of Python.
    private func python(_ name: String) -> String {
        let plain = name.filter { $0 != "`" }
        let reserved: Set = [
            "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
            "except",
            "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass",
            "raise", "return", "try", "while", "with", "yield",
        ]
        return reserved.contains(plain) ? "\(plain)_" : plain
    }
}
