import PropertyList

/// The keyed container of a `ValueDecoder`.
struct KeyedValueDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let values: [String: PropertyListValue]
    let decoder: ValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { values.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }

    /// Whether the key is missing, as nil is left out, or has Foundation's "$null".
    func decodeNil(forKey key: Key) -> Bool { (values[key.stringValue] ?? .nullInArray) == .nullInArray }

    // This is the witness of the requirements for all scalar types as well.
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        if values[key.stringValue] == nil, let optional = type as? any OptionalValue.Type,
            let nothing = optional.nothing as? Value
        {
            return nothing
        }
        return try decoder(for: key).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder(for: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(for: key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { superDecoder(for: NameKey("super")) }

    func superDecoder(forKey key: Key) -> any Decoder { superDecoder(for: key) }

    /// A superclass that encoded nil, or nothing, has no entry.
    private func superDecoder(for key: any CodingKey) -> ValueDecoder {
        decoder.decoder(for: values[key.stringValue] ?? .nullInArray, at: key)
    }

    private func decoder(for key: Key) throws -> ValueDecoder {
        guard let value = values[key.stringValue] else {
            let sentence = "There is no value\((codingPath + [key]).place)."
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: sentence))
        }
        return decoder.decoder(for: value, at: key)
    }
}
