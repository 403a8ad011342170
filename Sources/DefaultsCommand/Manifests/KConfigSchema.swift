import Manifests
import PropertyList

/// The settings in a `.kcfg` file of KConfig.
///
/// https://api.kde.org/kconfig-xt.html
///
/// A group becomes a dictionary, in that of its parent group. An entry with a parameter becomes a key for each of the
/// parameter's values. Colors, fonts, points, sizes, rectangles and times are strings, with the form in which KConfig
/// writes them as their format.
struct KConfigSchema {
    private let root: SchemaElement
    private var notes: [String] = []

    init(_ root: SchemaElement) { self.root = root }

    /// Returns the manifest, for a domain that is named like the file in which KConfig stores the settings.
    mutating func manifest(named name: String) -> ImportedManifest {
        var groups = ManifestKey(kind: .dictionary)
        let file = root.first("kcfgfile")
        let scope = file?["stateConfig"] == "true" ? ManifestKey.Scope.noise : .roaming
        for element in root.all("group") {
            let path = [element["parentGroupName"], element["name"] ?? ""].compactMap(\.self)
            if path.contains(where: { $0.contains("$(") }) {
                let name = path.joined(separator: "/")
                notes.append("The group \"\(name)\" is named by a parameter of the program, so its keys are left out.")
                continue
            }
            var keys = element.all("entry").flatMap { self.keys($0) }
            if keys.isEmpty { continue }
            for index in keys.indices { keys[index].scope = scope }
            notes += groups.add(keys, at: path)
        }
        let named = file?["name"] ?? ""
        let domain = named.isEmpty ? name : named
        return ImportedManifest(
            domain: domain, sources: [name], manifest: Manifest(domain: domain, keys: groups.subkeys), notes: notes)
    }

    /// Returns the key of an entry, or if it has a parameter, one for each value of the parameter.
    private mutating func keys(_ element: SchemaElement) -> [ManifestKey] {
        // The key in the file; the name is that of the accessor in C++.
        let name = element["key"] ?? element["name"] ?? ""
        guard let parameter = element.first("parameter"), let id = parameter["name"] else {
            return [key(name, element, parameter: nil)]
        }
        var values = parameter.first("values")?.all("value").map(\.trimmedText) ?? []
        if values.isEmpty {
            guard let maximum = parameter["max"].flatMap({ Int($0) }) else {
                notes.append("Key \"\(name)\" has the parameter \(id) without values, so it is left out.")
                return []
            }
            guard maximum < Self.maximumParameter else {
                notes.append("Key \"\(name)\" stands for \(UInt(maximum) + 1) keys, which are left out.")
                return []
            }
            values = (0...max(0, maximum)).map(String.init)
        }
        return values.enumerated().map { index, value in
            let parts = name.split(separator: "$(\(id))", omittingEmptySubsequences: false)
            return key(parts.joined(separator: value), element, parameter: (index, value))
        }
    }

    /// The number of keys for which one entry may stand.
    private static let maximumParameter = 1_000

    private mutating func key(
        _ name: String, _ element: SchemaElement, parameter: (index: Int, value: String)?
    ) -> ManifestKey {
        let type = element["type"] ?? "String"
        var key = Self.key(name, type)
        if key.kind == nil { notes.append("Key \"\(name)\" has the type \(type), so any value is allowed.") }
        key.texts.title = element.first("label")?.words
        key.texts.description = (element.first("whatsthis") ?? element.first("tooltip"))?.words
        key.isHidden = element["hidden"] == "true"
        if key.kind == .string, let choices = element.first("choices")?.all("choice") {
            key.choices = choices.compactMap { choice in
                (choice["value"] ?? choice["name"]).map {
                    .init(value: .string($0), title: choice.first("label")?.words)
                }
            }
        } else if let values = element.first("values")?.all("value"), key.kind == .string {
            key.choices = values.map { .init(value: .string($0.trimmedText)) }
        }
        for (name, path) in [("min", \ManifestKey.minimum), ("max", \ManifestKey.maximum)] {
            guard let bound = element.first(name) else { continue }
            if bound["code"] != "true", let value = Self.value(bound.trimmedText, key), value.number != nil {
                key[keyPath: path] = value
            } else {
                notes.append("The \(name) of key \"\(key.name)\" is computed by the program: \(bound.words)")
            }
        }
        let defaults = element.all("default")
        let own = defaults.last { element in
            element["param"].map { $0 == parameter?.value || Int($0) == parameter?.index && parameter != nil } ?? false
        }
        if let text = own ?? defaults.last(where: { $0["param"] == nil }) { readDefault(of: &key, text) }
        nameChoice(of: &key)
        return key
    }

    private mutating func readDefault(of key: inout ManifestKey, _ text: SchemaElement) {
        if text["code"] == "true" {
            // Many are constants nevertheless.
            guard let value = Self.value(text.trimmedText, key), key.kind != .string, key.kind != .array else {
                notes.append("The default of key \"\(key.name)\" is computed by the program: \(text.words)")
                return
            }
            key.defaultValue = value
        } else if let value = Self.value(text.keptText, key) {
            key.defaultValue = value
        } else if !text.trimmedText.isEmpty {
            notes.append("The default of key \"\(key.name)\" can't be expressed: \(text.words)")
        }
        // `nameChoice` decides about choices.
        if key.choices.isEmpty, key.breaksOwnRules {
            key.defaultValue = nil
            notes.append("The default of key \"\(key.name)\" isn't one that it allows: \(text.words)")
        }
    }

    /// Replaces a default that is the C++ name or the index of a choice with that choice.
    private mutating func nameChoice(of key: inout ManifestKey) {
        guard key.kind == .string, !key.choices.isEmpty, case .string(let text)? = key.defaultValue else { return }
        if text.isEmpty {
            key.defaultValue = nil
            return
        }
        let values = key.choices.map(\.value.plainText)
        if values.contains(text) { return }
        let name = text.split(separator: ":").last.map(String.init)
        let index = Int(text).flatMap { values.indices.contains($0) ? values[$0] : nil }
        if let choice = values.first(where: { $0 == name }) ?? index {
            key.defaultValue = .string(choice)
        } else {
            notes.append("The default of key \"\(key.name)\", \(text), is not among its choices.")
            key.defaultValue = nil
        }
    }

    private static func key(_ name: String, _ type: String) -> ManifestKey {
        var key = ManifestKey(name, kind: .string)
        switch type.lowercased() {
        case "string", "path", "url", "enum", "datetime": break
        case "time": key.format = timeFormat
        case "password": key.isSensitive = true
        case "bool": key.kind = .boolean
        case "int", "int64", "longlong": key.kind = .integer
        case "uint", "uint64", "ulonglong":
            key.kind = .integer
            key.minimum = 0
        case "double": key.kind = .real
        case "stringlist", "pathlist", "urllist", "intlist":
            key.kind = .array
            key.subkeys = [ManifestKey(kind: type.lowercased() == "intlist" ? .integer : .string)]
        default:
            key.format = forms[type.lowercased()].flatMap { try? Format($0) }
            if key.format == nil { key.kind = nil }
        }
        return key
    }

    private static let timeFormat = try? Format("^\\d{1,2},\\d{1,2},\\d{1,2}(,\\d{1,3})?$")

    /// The forms of types that KConfig writes as text.
    private static let forms = {
        func numbers(_ count: String) -> String { "^-?\\d+(\\.\\d+)?(, ?-?\\d+(\\.\\d+)?){\(count)}$" }
        return [
            "color": "^(\\d{1,3}(, ?\\d{1,3}){2,3}|#[0-9A-Fa-f]{3,12}|[A-Za-z]+)?$", "font": "^[^,]*(,[^,]*)*$",
            "point": numbers("1"), "pointf": numbers("1"), "size": numbers("1"), "sizef": numbers("1"),
            "rect": numbers("3"), "rectf": numbers("3"),
        ]
    }()

    /// Returns the value that a text is for a type; `nil` if it isn't one.
    ///
    /// KConfig keeps the blanks of strings. Numbers are the compiler's: `010` is 8.
    private static func value(_ text: String, _ key: ManifestKey) -> PropertyListValue? {
        let word = text.trimmed
        switch key.kind {
        case .boolean:
            switch word.lowercased() {
            case "true", "yes", "on", "1": return true
            case "false", "no", "off", "0": return false
            default: return nil
            }
        case .integer: return .integerLiteral(in: word)
        case .real: return Double(word).map { .real($0) }
        case .array: return text.isEmpty ? nil : list(text, key.subkeys.first)
        case .string where key.format == timeFormat: return word.isEmpty ? nil : time(word).map { .string($0) }
        case .string where key.format != nil: return word.isEmpty ? nil : .string(word)
        case .string: return .string(key.choices.isEmpty ? text : word)
        default: return nil
        }
    }

    /// Returns the form in which KConfig writes a time that a default states as `hh:mm:ss`.
    private static func time(_ text: String) -> String? {
        let numbers = text.split(separator: ":").map { Int($0) }
        guard (2...3).contains(numbers.count), !numbers.contains(nil) else { return nil }
        return (numbers.compactMap(\.self) + [0, 0]).prefix(4).map(String.init).joined(separator: ",")
    }

    /// Returns the list that a text with commas is; `nil` if an element isn't of its type.
    private static func list(_ text: String, _ element: ManifestKey?) -> PropertyListValue? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let values = parts.map { part -> PropertyListValue? in
            element?.kind == .integer ? .integerLiteral(in: part.trimmed) : .string(part)
        }
        return values.contains(nil) ? nil : .array(values.compactMap(\.self))
    }
}
