import PropertyList

/// Decodes from a tree.
struct ValueDecoder: Decoder {
    let value: PropertyListValue
    let codingPath: [any CodingKey]
    /// Whether numbers and Booleans may be strings, as `defaults write` stores them.
    let readsText: Bool
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func decode<Value: Decodable>(
        _ type: Value.Type, from value: PropertyListValue, readsText: Bool
    ) throws -> Value {
        try ValueDecoder(value: value, codingPath: [], readsText: readsText).decode(type)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .dictionary(let values) = value else {
            throw mismatch([String: Any].self, expected: "a dictionary")
        }
        return KeyedDecodingContainer(KeyedValueDecoding(values: values, decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let values) = value else { throw mismatch([Any].self, expected: "an array") }
        return UnkeyedValueDecoding(values: values, decoder: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { SingleValueDecoding(decoder: self) }

    /// Decodes the value this decoder is at.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let scalar = type as? any CodingScalar.Type else { return try Value(from: self) }
        let read: (any CodingScalar)? = readsText ? scalar.init(propertyListValue: value) : scalar.exact(value)
        guard let result = read as? Value else { throw unreadable(scalar) }
        return result
    }

    /// The decoder of an element.
    func decoder(for value: PropertyListValue, at key: any CodingKey) -> ValueDecoder {
        ValueDecoder(value: value, codingPath: codingPath + [key], readsText: readsText)
    }

    private func unreadable(_ type: any CodingScalar.Type) -> DecodingError {
        let isNumber = type is any (FixedWidthInteger & CodingScalar).Type || type == Double.self || type == Float.self
        switch value {
        case .integer, .unsigned, .real, .real32:
            guard isNumber else { break }
            let sentence =
                "Expected \(type.expectation)\(codingPath.place), but found \(value.coercedString ?? "another")."
            return .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: sentence))
        default: break
        }
        return mismatch(type, expected: type.expectation)
    }

    private func mismatch(_ type: Any.Type, expected: String) -> DecodingError {
        let sentence = "Expected \(expected)\(codingPath.place), but found \(value.kind)."
        return .typeMismatch(type, DecodingError.Context(codingPath: codingPath, debugDescription: sentence))
    }
}

extension PropertyListValue {
    /// What kind of value it is, with its article.
    var kind: String {
        switch self {
        case .string: "a string"
        case .integer, .unsigned: "a whole number"
        case .real, .real32: "a real"
        case .boolean: "a Boolean"
        case .date: "a date"
        case .data: "data"
        case .array: "an array"
        case .dictionary: "a dictionary"
        case .uid: "an archive's object number"
        }
    }
}
