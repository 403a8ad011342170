import DefaultsCore
import Manifests
import PropertyList

/// A manifest made from another system's description of settings, and what it couldn't express.
struct ImportedManifest {
    /// The name or pattern of the domain.
    let domain: String
    /// The ids of the schemas that it is made from, or the names of their files.
    var sources: [String]
    var manifest: Manifest
    /// The sentences about what is missing or different.
    var notes: [String]

    /// Adds the keys of another schema for the same domain; those that are already there stay.
    ///
    /// - Returns: The keys that have another description in the other schema.
    mutating func merge(_ other: Manifest) -> [String] {
        var root = ManifestKey(kind: .dictionary)
        root.subkeys = manifest.root.subkeys
        let others = root.merge(other.root.subkeys)
        if root.subkeys != manifest.root.subkeys {
            manifest = Manifest(
                domain: manifest.domain, texts: manifest.texts, isEnforced: manifest.isEnforced, keys: root.subkeys)
        }
        return others
    }
}

extension ManifestKey {
    /// The number of keys, in which each entry of a dictionary with fixed entries counts.
    var count: Int { kind == .dictionary && !fixedSubkeys.isEmpty ? fixedSubkeys.reduce(0) { $0 + $1.count } : 1 }

    /// Whether the default breaks the key's own rules.
    var breaksOwnRules: Bool {
        guard let defaultValue else { return false }
        return Manifest(keys: [self]).violations(of: [name], in: [name: defaultValue]).contains { $0.rule != .size }
    }

    /// Adds keys to a dictionary inside this one.
    ///
    /// - Returns: A sentence for each key that occurs twice.
    mutating func add(_ keys: [ManifestKey], at path: some Collection<String>) -> [String] {
        guard let name = path.first else {
            var notes: [String] = []
            for key in keys {
                if subkeys.contains(where: { $0.name == key.name }) {
                    notes.append("Key \"\(key.name)\" occurs more than once; the first is used.")
                } else {
                    subkeys.append(key)
                }
            }
            return notes
        }
        if let index = subkeys.firstIndex(where: { $0.name == name }) {
            return subkeys[index].add(keys, at: path.dropFirst())
        }
        var group = ManifestKey(name, kind: .dictionary)
        let notes = group.add(keys, at: path.dropFirst())
        subkeys.append(group)
        return notes
    }

    /// Adds keys, and to dictionaries that are already there, their entries.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - prefix: The names of the dictionaries around them, each with a dot.
    /// - Returns: The keys that are there with another description.
    mutating func merge(_ keys: [ManifestKey], inside prefix: String = "") -> [String] {
        var others: [String] = []
        for key in keys {
            guard let index = subkeys.firstIndex(where: { $0.name == key.name }) else {
                subkeys.append(key)
                continue
            }
            var (one, other) = (subkeys[index], key)
            if one == other { continue }
            (one.subkeys, other.subkeys) = ([], [])
            if one == other, one.kind == .dictionary {
                others += subkeys[index].merge(key.subkeys, inside: "\(prefix)\(key.name).")
            } else {
                others.append("\(prefix)\(key.name)")
            }
        }
        return others
    }
}

extension PropertyListValue {
    /// Returns the whole number that a literal of C is: decimal, hexadecimal (`0x15`) or octal (`025`).
    static func integerLiteral(in text: String) -> PropertyListValue? {
        var digits = text[...]
        let isNegative = digits.first == "-"
        if isNegative || digits.first == "+" { digits.removeFirst() }
        var radix = 10
        if digits.lowercased().hasPrefix("0x") {
            (radix, digits) = (16, digits.dropFirst(2))
        } else if digits.count > 1, digits.first == "0" {
            (radix, digits) = (8, digits.dropFirst())
        }
        guard digits.first?.isHexDigit == true, let magnitude = UInt64(digits, radix: radix) else { return nil }
        if !isNegative { return .number(magnitude) }
        guard magnitude <= Int64.min.magnitude else { return nil }
        return .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
    }
}

/// The schemas of GSettings in a `.gschema.xml` file.
///
/// https://docs.gtk.org/gio/class.Settings.html
///
/// The domain is that of the schema's path, as GSettings' backend names it. A tuple becomes an array with fixed places,
/// an enumeration the names of its values, flags an array of their names, and a relocatable schema a pattern.
struct GSettingsSchemas {
    private let root: SchemaElement
    private var notes: [String] = []

    private let others: [SchemaElement]
    private let overrides: [GSettingsOverride]

    /// The patterns of paths where relocatable schemas are used, by the schemas' ids, unless another schema says it or
    /// the paths begin like the id.
    private static let paths = [
        "com.gexperts.Tilix.Profile": "/com/gexperts/Tilix/profiles/*",
        "org.gnome.Terminal.Legacy.Profile": "/org/gnome/terminal/legacy/profiles:/*",
        "org.mate.panel.object": "/org/mate/panel/objects/*",
        "org.mate.panel.toplevel": "/org/mate/panel/toplevels/*",
    ]

    /// Creates schemas from a document.
    ///
    /// - Parameters:
    ///   - root: The document.
    ///   - others: The documents with enumerations that it may use.
    ///   - overrides: The defaults that replace those of the schemas, in order.
    init(_ root: SchemaElement, besides others: [SchemaElement] = [], overrides: [GSettingsOverride] = []) {
        (self.root, self.others, self.overrides) = (root, others, overrides)
    }

    /// Returns the manifests of all schemas, in order.
    ///
    /// - Throws: If a schema's path or id can't be a domain's.
    mutating func manifests() throws(Failure) -> [ImportedManifest] {
        var manifests: [ImportedManifest] = []
        for schema in root.all("schema") {
            guard let id = schema["id"] else { continue }
            notes = []
            var keys: [ManifestKey] = []
            collect(schema, into: &keys, depth: 0)
            if keys.isEmpty { continue }
            let domains = try domains(of: schema, id)
            for override in overrides where override.schema == id {
                guard let index = keys.firstIndex(where: { $0.name == override.key }) else {
                    notes.append("The schema has no key \"\(override.key)\", whose default a vendor has set.")
                    continue
                }
                if let desktop = override.desktop {
                    notes.append(
                        "On \(desktop), the default of key \"\(override.key)\" is \(override.text), which a manifest "
                            + "can't express.")
                } else {
                    setDefault(of: &keys[index], override.text, type(of: override.key, in: schema, depth: 0))
                }
            }
            for domain in domains {
                let described = keys.map { key in
                    var key = key
                    if GSettingsNoise.contains(key.name, of: domain) { key.scope = .noise }
                    if key.kind == .string, key.name.contains("password") { key.isSensitive = true }
                    return key
                }
                manifests.append(
                    ImportedManifest(
                        domain: domain, sources: [id], manifest: Manifest(domain: domain, keys: described),
                        notes: notes))
            }
        }
        return manifests
    }

    /// Returns the names of a schema's domains or, for a relocatable schema that no other contains, a pattern.
    private func domains(of schema: SchemaElement, _ id: String) throws(Failure) -> [String] {
        var domains: [String] = []
        for path in schema["path"].map({ [$0] }) ?? pathsInParents(of: id) {
            guard let name = DomainName(gsettingsPath: path) else {
                throw Failure("\"\(path)\" isn't a settings path: it must begin and end with a slash.", .dataError)
            }
            if !domains.contains(name.description) { domains.append(name.description) }
        }
        if !domains.isEmpty { return domains }
        if let path = Self.paths[id] { return [path.dropFirst().map { $0 == "/" ? "." : "\($0)" }.joined()] }
        // A program usually puts them into paths that begin like the id, or its plural.
        guard DomainName(gsettingsPath: "/\(id)/")?.description == id.replacing(".", with: "%2E") else {
            throw Failure("\"\(id)\" can't be the name of a domain.", .dataError)
        }
        return ["\(id)*"]
    }

    /// Returns the paths of a relocatable schema in the schemas that contain it.
    private func pathsInParents(of id: String) -> [String] {
        root.all("schema").flatMap { parent in
            parent["path"].map { path in
                parent.all("child").filter { $0["schema"] == id }.compactMap { $0["name"] }.map { "\(path)\($0)/" }
            } ?? []
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
        for element in schema.all("key") {
            let key = key(element)
            if keys.contains(where: { $0.name == key.name }) {
                notes.append("Key \"\(key.name)\" occurs more than once; the first is used.")
            } else {
                keys.append(key)
            }
        }
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
            let former = key.defaultValue
            key.defaultValue = try GVariantText.read(text, as: type)
            if key.breaksOwnRules {
                key.defaultValue = former
                notes.append("The default of key \"\(key.name)\" isn't one that it allows: \(text)")
            }
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

/// A default that a vendor has set, in a `.gschema.override` file.
struct GSettingsOverride: Hashable {
    let schema: String
    /// The desktop to which it is limited; `nil` for all.
    let desktop: String?
    let key: String
    /// The value in GVariant's text format.
    let text: String

    /// Reads the overrides in a file, a key file with the names of schemas as its groups.
    static func read(_ text: String) throws(Failure) -> [GSettingsOverride] {
        var group: (schema: String, desktop: String?)?
        var overrides: [GSettingsOverride] = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = String(line).trimmed
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line.hasPrefix("["), line.hasSuffix("]") {
                let parts = line.dropFirst().dropLast().split(separator: ":", maxSplits: 1).map(String.init)
                group = parts.first.map { (schema: $0, desktop: parts.count > 1 ? parts[1] : nil) }
                continue
            }
            guard let group, let equals = line.firstIndex(of: "=") else {
                throw Failure("Line \(number + 1): expected [schema] or key=value.", .dataError)
            }
            overrides.append(
                GSettingsOverride(
                    schema: group.schema, desktop: group.desktop, key: String(line[..<equals]).trimmed,
                    text: String(line[line.index(after: equals)...]).trimmed))
        }
        return overrides
    }
}
