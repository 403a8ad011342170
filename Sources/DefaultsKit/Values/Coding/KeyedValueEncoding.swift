import PropertyList

/// The keyed container of a `ValueEncoder`.
struct KeyedValueEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodingNode
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) { node.entry(key.stringValue, keeps: false).set(nil) }

    // This is the witness of the requirements for all scalar types as well.
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try ValueEncoder.encode(value, into: node.entry(key.stringValue, keeps: false), at: codingPath + [key])
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder(for: key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder(for: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder(for: NameKey("super")) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder(for: key) }

    private func encoder(for key: any CodingKey) -> ValueEncoder {
        ValueEncoder(node: node.entry(key.stringValue, keeps: true), codingPath: codingPath + [key])
    }
}
