import PropertyList

/// Encodes into a tree of nodes.
struct ValueEncoder: Encoder {
    let node: EncodingNode
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeDictionary()
        return KeyedEncodingContainer(KeyedValueEncoding(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeArray()
        return UnkeyedValueEncoding(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueEncoding(node: node, codingPath: codingPath)
    }

    /// Encodes one value into an empty node.
    static func encode<Value: Encodable>(_ value: Value, into node: EncodingNode, at path: [any CodingKey]) throws {
        if let scalar = value as? any CodingScalar { return node.set(try scalar.propertyListValue) }
        guard path.count <= PropertyListValue.maximumDepth else {
            throw tooDeep(value, at: path)
        }
        try value.encode(to: ValueEncoder(node: node, codingPath: path))
    }

    static func tooDeep(_ value: Any, at path: [any CodingKey]) -> EncodingError {
        let sentence = "The value nests more than the \(PropertyListValue.maximumDepth) containers that can be stored."
        return .invalidValue(value, EncodingError.Context(codingPath: path, debugDescription: sentence))
    }
}
