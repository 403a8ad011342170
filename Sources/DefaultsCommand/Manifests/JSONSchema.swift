import DefaultsCore
import Manifests
import PropertyList

/// A manifest as a JSON Schema, for the JSON that `defaults read --json` prints.
///
/// https://json-schema.org/draft/2020-12/json-schema-core
enum JSONSchema {
    /// Returns the schema.
    static func of(_ manifest: Manifest, domain: String) -> String {
        var schema = object(manifest.root)
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = .string(manifest.texts.title ?? domain)
        schema["description"] = manifest.texts.description.map { .string($0) }
        return JSONText.ofDocument(.dictionary(schema))
    }

    private static func schema(of key: ManifestKey) -> PropertyListValue {
        var schema: DomainValues = [:]
        switch key.kind {
        case .string:
            schema["type"] = "string"
            schema["minLength"] = length(key.minimum)
            schema["maxLength"] = length(key.maximum)
            schema["pattern"] = key.format.map { .string($0.pattern) }
        case .integer, .real:
            schema["type"] = key.kind == .integer ? "integer" : "number"
            schema["minimum"] = finite(key.minimum)
            schema["maximum"] = finite(key.maximum)
        case .boolean: schema["type"] = "boolean"
        case .date: schema = wrapped("$date")
        case .data: schema = wrapped("$data")
        case .array: schema = array(key)
        case .dictionary: schema = object(key)
        case nil: break
        }
        // Of an array, they are for the elements.
        if !key.choices.isEmpty, !key.allowsOtherValues, !key.isBitField, key.kind != .array {
            schema["enum"] = .array(key.choices.map(\.value))
        }
        schema["title"] = key.texts.title.map { .string($0) }
        schema["description"] = key.texts.description.map { .string($0) }
        schema["default"] = key.effectiveDefault
        return .dictionary(schema)
    }

    /// Returns a bound; `nil` if it is infinite, which JSON can't express.
    private static func finite(_ bound: PropertyListValue?) -> PropertyListValue? {
        bound?.number?.isFinite == true ? bound : nil
    }

    /// Returns a bound as a length, which is a whole number that isn't negative.
    private static func length(_ bound: PropertyListValue?) -> PropertyListValue? {
        guard let number = bound?.number, let length = Int64(exactly: number.rounded(.up)), length >= 0 else {
            return nil
        }
        return .integer(length)
    }

    /// Returns the schema of a type that JSON lacks: an object with one entry.
    private static func wrapped(_ name: String) -> DomainValues {
        [
            "type": "object", "properties": [name: ["type": "string"]], "required": [.string(name)],
            "additionalProperties": false,
        ]
    }

    private static func array(_ key: ManifestKey) -> DomainValues {
        var schema: DomainValues = ["type": "array"]
        schema["minItems"] = length(key.minimum)
        schema["maxItems"] = length(key.maximum)
        if key.subkeys.count > 1 { schema["prefixItems"] = .array(key.subkeys.dropLast().map { self.schema(of: $0) }) }
        schema["items"] = key.subkeys.last.map { self.schema(of: $0) }
        if !key.choices.isEmpty, !key.allowsOtherValues, key.subkeys.count < 2 {
            let choices: PropertyListValue = .dictionary(["enum": .array(key.choices.map(\.value))])
            schema["items"] = schema["items"].map { .dictionary(["allOf": [$0, choices]]) } ?? choices
        }
        return schema
    }

    private static func object(_ key: ManifestKey) -> DomainValues {
        var schema: DomainValues = ["type": "object"]
        let properties = key.fixedSubkeys.map { ($0.name, self.schema(of: $0)) }
        if !properties.isEmpty { schema["properties"] = .dictionary(Dictionary(properties) { first, _ in first }) }
        let required = key.fixedSubkeys.filter(\.isRequired).map { PropertyListValue.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        if let value = key.subkeys.first(where: { $0.name == ManifestKey.freeValue }) {
            schema["additionalProperties"] = self.schema(of: value)
        } else if !key.subkeys.isEmpty {
            schema["additionalProperties"] = false
        }
        // It would also apply to the fixed keys.
        if key.fixedSubkeys.isEmpty, let names = key.subkeys.first(where: { $0.name == ManifestKey.freeKey }) {
            schema["propertyNames"] = self.schema(of: names)
        }
        return schema
    }
}
