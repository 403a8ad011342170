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
        guard path.count <= PropertyListLimits().depth else {
            let sentence = "The value is nested deeper than a property list may be: \(path.count) containers."
            throw EncodingError.invalidValue(value, EncodingError.Context(codingPath: path, debugDescription: sentence))
        }
        try value.encode(to: ValueEncoder(node: node, codingPath: path))
    }
}
