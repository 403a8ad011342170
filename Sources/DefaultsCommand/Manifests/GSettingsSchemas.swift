import Manifests
import PropertyList

/// A manifest made from another system's description of settings, and what it couldn't express.
struct ImportedManifest {
    /// The name or pattern of the domain.
    let domain: String
    let manifest: Manifest
    /// The number of settings that were described.
    let count: Int
    /// The sentences about what is missing or different.
    let notes: [String]
}

/// The schemas of GSettings in a `.gschema.xml` file.
///
/// https://docs.gtk.org/gio/class.Settings.html
///
/// A tuple becomes an array with fixed places, an enumeration the names of its values, flags an array of their names,
/// and a relocatable schema a pattern: its name and any further part.
struct GSettingsSchemas {
    private let root: SchemaElement
    private var notes: [String] = []

    private let others: [SchemaElement]

    /// Creates schemas from a document, and from others with enumerations that it may use.
    init(_ root: SchemaElement, besides others: [SchemaElement] = []) { (self.root, self.others) = (root, others) }

    /// Returns the manifests of all schemas, in order.
    mutating func manifests() -> [ImportedManifest] {
        root.all("schema").compactMap { schema in
            guard let id = schema["id"] else { return nil }
            notes = []
            var keys: [ManifestKey] = []
            collect(schema, into: &keys, depth: 0)
            if keys.isEmpty { return nil }
            let domain = schema["path"] == nil ? "\(id).*" : id
            return ImportedManifest(
                domain: domain, manifest: Manifest(domain: domain, keys: keys), count: keys.count, notes: notes)
        }
    }

    /// Adds a schema's keys, after those of the schema that it extends.
    private mutating func collect(_ schema: SchemaElement, into keys: inout [ManifestKey], depth: Int) {
        if let base = schema["extends"] {
            if depth < 32, base != schema["id"], let found = root.all("schema").first(where: { $0["id"] == base }) {
                collect(found, into: &keys, depth: depth + 1)
            } else {
                notes.append("The keys of \(base), which \(schema["id"] ?? "") extends, are missing.")
            }
        }
        for element in schema.all("key") { keys.append(key(element)) }
        for element in schema.all("override") {
            guard let index = keys.firstIndex(where: { $0.name == element["name"] }) else { continue }
            setDefault(of: &keys[index], element.trimmedText, type(of: keys[index].name, in: schema, depth: 0))
        }
    }

    private func type(of name: String, in schema: SchemaElement, depth: Int) -> GVariantType? {
        if let key = schema.all("key").first(where: { $0["name"] == name }) { return type(of: key) }
        guard depth < 32, let base = root.all("schema").first(where: { $0["id"] == schema["extends"] }) else {
            return nil
        }
        return type(of: name, in: base, depth: depth + 1)
    }

    private func type(of element: SchemaElement) -> GVariantType? {
        if element["enum"] != nil { return .string }
        if element["flags"] != nil { return .array(.string) }
        return element["type"].flatMap(GVariantType.init)
    }

    private mutating func key(_ element: SchemaElement) -> ManifestKey {
        let name = element["name"] ?? ""
        let type = type(of: element)
        var key = type.map { self.key(name, $0) } ?? ManifestKey(name, kind: nil)
        if type == nil {
            notes.append("Key \"\(name)\" has the type \(element["type"] ?? "?"), so any value is allowed.")
        }
        if let id = element["enum"] { key.choices = choices(of: "enum", id) }
        if let id = element["flags"] {
            var flag = ManifestKey(kind: .string)
            flag.choices = choices(of: "flags", id)
            key.subkeys = [flag]
        }
        if let list = element.first("choices") {
            key.choices = list.all("choice").compactMap { $0["value"] }.map { .init(value: .string($0)) }
        }
        if let range = element.first("range"), let type {
            func bound(_ name: String) -> PropertyListValue? {
                range[name].flatMap { try? GVariantText.read($0, as: type) }
            }
            key.minimum = bound("min") ?? key.minimum
            key.maximum = bound("max") ?? key.maximum
        }
        if let text = element.first("default")?.trimmedText { setDefault(of: &key, text, type) }
        key.texts.title = element.first("summary")?.words
        key.texts.description = element.first("description")?.words
        return key
    }

    private mutating func setDefault(of key: inout ManifestKey, _ text: String, _ type: GVariantType?) {
        guard let type else { return }
        do throws(GVariantText.Invalid) {
            key.defaultValue = try GVariantText.read(text, as: type)
        } catch {
            notes.append("The default of key \"\(key.name)\" can't be expressed: \(text)")
        }
    }

    private func key(_ name: String, _ type: GVariantType) -> ManifestKey {
        switch type {
        case .boolean: return ManifestKey(name, kind: .boolean)
        case .real: return ManifestKey(name, kind: .real)
        case .string: return ManifestKey(name, kind: .string)
        case .data: return ManifestKey(name, kind: .data)
        case .variant: return ManifestKey(name, kind: nil)
        // Having no value is what a property list has instead.
        case .maybe(let inner): return key(name, inner)
        case .integer(let minimum, let maximum):
            var key = ManifestKey(name, kind: .integer)
            if minimum != .integer(.min) { (key.minimum, key.maximum) = (minimum, maximum) }
            return key
        case .array(let element):
            var key = ManifestKey(name, kind: .array)
            key.subkeys = [self.key("", element)]
            return key
        case .tuple(let parts):
            var key = ManifestKey(name, kind: .array)
            key.subkeys = parts.map { self.key("", $0) }
            (key.minimum, key.maximum) = (.integer(Int64(parts.count)), .integer(Int64(parts.count)))
            return key
        case .dictionary(let element):
            var key = ManifestKey(name, kind: .dictionary)
            key.subkeys = [ManifestKey(ManifestKey.freeKey, kind: .string), self.key(ManifestKey.freeValue, element)]
            return key
        }
    }

    private mutating func choices(of kind: String, _ id: String) -> [ManifestKey.Choice] {
        let found = ([root] + others).lazy.flatMap { $0.all(kind) }.first { $0["id"] == id }
        guard let values = found?.all("value") else {
            notes.append("The values of \(id) are in another file that isn't here, so any are allowed.")
            return []
        }
        return values.compactMap { $0["nick"] }.map { .init(value: .string($0)) }
    }
}
