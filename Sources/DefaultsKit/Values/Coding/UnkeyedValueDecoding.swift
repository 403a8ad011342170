import PropertyList

/// The unkeyed container of a `ValueDecoder`.
struct UnkeyedValueDecoding: UnkeyedDecodingContainer {
    let values: [PropertyListValue]
    let decoder: ValueDecoder
    private(set) var currentIndex = 0

    init(values: [PropertyListValue], decoder: ValueDecoder) {
        self.values = values
        self.decoder = decoder
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex >= values.count }

    mutating func decodeNil() throws -> Bool {
        guard try next(Any?.self).value == .nullInArray else { return false }
        currentIndex += 1
        return true
    }

    // This is the witness of the requirements for all scalar types as well.
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try next(type).decode(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let container = try next(KeyedDecodingContainer<NestedKey>.self).container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try next((any UnkeyedDecodingContainer).self).unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try next((any Decoder).self)
        currentIndex += 1
        return decoder
    }

    private func next(_ type: Any.Type) throws -> ValueDecoder {
        let key = IndexKey(currentIndex)
        guard currentIndex < values.count else {
            let path = codingPath + [key]
            let sentence = "There is no value\(path.place): the array has \(values.count)."
            throw DecodingError.valueNotFound(
                type, DecodingError.Context(codingPath: path, debugDescription: sentence))
        }
        return decoder.decoder(for: values[currentIndex], at: key)
    }
}
