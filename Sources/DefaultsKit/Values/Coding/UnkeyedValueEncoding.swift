import PropertyList

/// The unkeyed container of a `ValueEncoder`.
struct UnkeyedValueEncoding: UnkeyedEncodingContainer {
    let node: EncodingNode
    let codingPath: [any CodingKey]

    var count: Int { node.count }

    func encodeNil() { node.append().set(nil) }

    // This is the witness of the requirements for all scalar types as well.
    func encode<Value: Encodable>(_ value: Value) throws {
        let path = codingPath + [IndexKey(count)]
        try ValueEncoder.encode(value, into: node.append(), at: path)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        superValueEncoder().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superValueEncoder().unkeyedContainer() }

    func superEncoder() -> any Encoder { superValueEncoder() }

    private func superValueEncoder() -> ValueEncoder {
        let path = codingPath + [IndexKey(count)]
        return ValueEncoder(node: node.append(), codingPath: path)
    }
}
