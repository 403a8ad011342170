import Manifests
import PropertyList

/// The settings in a `.kcfg` file of KConfig.
///
/// https://api.kde.org/kconfig-xt.html
///
/// A group becomes a dictionary. Colors, fonts, points, sizes and rectangles are strings, with the form in which
/// KConfig writes them as their format.
struct KConfigSchema {
    private let root: SchemaElement
    private var notes: [String] = []

    init(_ root: SchemaElement) { self.root = root }

    /// Returns the manifest, for a domain that is named like the file in which KConfig stores the settings.
    mutating func manifest(named name: String) -> ImportedManifest {
        var groups: [ManifestKey] = []
        var count = 0
        for element in root.all("group") {
            let name = element["name"] ?? ""
            let keys = element.all("entry").map { key($0) }
            count += keys.count
            if let index = groups.firstIndex(where: { $0.name == name }) {
                groups[index].subkeys += keys
            } else {
                var group = ManifestKey(name, kind: .dictionary)
                group.subkeys = keys
                groups.append(group)
            }
        }
        let file = root.first("kcfgfile")?["name"] ?? ""
        let domain = file.isEmpty ? name : file
        return ImportedManifest(
            domain: domain, manifest: Manifest(domain: domain, keys: groups), count: count, notes: notes)
    }

    private mutating func key(_ element: SchemaElement) -> ManifestKey {
        // The key in the file; the name is that of the accessor in C++.
        let name = element["key"] ?? element["name"] ?? ""
        let type = element["type"] ?? "String"
        var key = Self.key(name, type)
        if key.kind == nil { notes.append("Key \"\(name)\" has the type \(type), so any value is allowed.") }
        if name.contains("$(") {
            notes.append("Key \"\(name)\" stands for several keys, by a parameter of the program.")
        }
        key.texts.title = element.first("label")?.words
        key.texts.description = (element.first("whatsthis") ?? element.first("tooltip"))?.words
        key.isHidden = element["hidden"] == "true"
        if let choices = element.first("choices")?.all("choice") {
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
        readDefault(of: &key, element)
        nameChoice(of: &key)
        return key
    }

    private mutating func readDefault(of key: inout ManifestKey, _ element: SchemaElement) {
        guard let text = element.all("default").first(where: { $0["param"] == nil }) else { return }
        if text["code"] == "true" {
            // Many are constants nevertheless.
            guard let value = Self.value(text.trimmedText, key), key.kind != .string, key.kind != .array else {
                notes.append("The default of key \"\(key.name)\" is computed by the program: \(text.words)")
                return
            }
            key.defaultValue = value
        } else if let value = Self.value(text.trimmedText, key) {
            key.defaultValue = value
        } else if !text.trimmedText.isEmpty {
            notes.append("The default of key \"\(key.name)\" can't be expressed: \(text.words)")
        }
    }

    /// Replaces a default that is the C++ name or the index of a choice with that choice.
    private mutating func nameChoice(of key: inout ManifestKey) {
        guard key.kind == .string, !key.choices.isEmpty, case .string(let text)? = key.defaultValue else { return }
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
    private static func value(_ text: String, _ key: ManifestKey) -> PropertyListValue? {
        switch key.kind {
        case .boolean:
            switch text.lowercased() {
            case "true", "yes", "on", "1": true
            case "false", "no", "off", "0": false
            default: nil
            }
        case .integer: Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) }
        case .real: Double(text).map { .real($0) }
        case .array: list(text, key.subkeys.first)
        case .string: text.isEmpty ? nil : .string(text)
        default: nil
        }
    }

    /// Returns the list that a text with commas is; `nil` if an element isn't of its type.
    private static func list(_ text: String, _ element: ManifestKey?) -> PropertyListValue? {
        let parts = text.split(separator: ",").map { $0.drop(while: \.isWhitespace) }
        let values = parts.map { part -> PropertyListValue? in
            element?.kind == .integer ? Int64(part).map { .integer($0) } : .string(String(part))
        }
        return values.contains(nil) ? nil : .array(values.compactMap(\.self))
    }
}
