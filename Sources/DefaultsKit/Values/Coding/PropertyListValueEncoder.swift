import PropertyList

/// An encoder that builds a tree of nodes.
struct PropertyListValueEncoder: Encoder {
    let node: EncodingNode
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { node.userInfo }

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
        try value.encode(to: PropertyListValueEncoder(node: node, codingPath: path))
    }

    static func tooDeep(_ value: Any, at path: [any CodingKey]) -> EncodingError {
        let sentence = "The value nests more than the \(PropertyListValue.maximumDepth) containers that can be stored."
        return .invalidValue(value, EncodingError.Context(codingPath: path, debugDescription: sentence))
    }
}

/// A value under construction, shared by the containers of an encoder.
final class EncodingNode {
    private enum Content {
        case empty
        case null
        case value(PropertyListValue)
        case array([EncodingNode])
        case dictionary([String: EncodingNode])
        case conflict
    }

    private var content = Content.empty
    /// The caller's information for types that encode themselves.
    let userInfo: [CodingUserInfoKey: Any]

    init(userInfo: [CodingUserInfoKey: Any]) { self.userInfo = userInfo }

    /// The number of elements in the array so far.
    var count: Int {
        guard case .array(let nodes) = content else { return 0 }
        return nodes.count
    }

    /// Sets the value.
    ///
    /// A second value is an error, since one of the two would be lost.
    func set(_ value: PropertyListValue?) {
        guard case .empty = content else { return content = .conflict }
        content = value.map(Content.value) ?? .null
    }

    /// Makes the node an array, if it isn't one already.
    func becomeArray() {
        switch content {
        case .array: break
        case .empty: content = .array([])
        default: content = .conflict
        }
    }

    /// Makes the node a dictionary, if it isn't one already.
    func becomeDictionary() {
        switch content {
        case .dictionary: break
        case .empty: content = .dictionary([:])
        default: content = .conflict
        }
    }

    /// Appends an element to the array, and returns its node.
    func append() -> EncodingNode {
        let node = EncodingNode(userInfo: userInfo)
        guard case .array(var nodes) = content else { return node }
        content = .empty
        nodes.append(node)
        content = .array(nodes)
        return node
    }

    /// Returns the node for a key.
    ///
    /// With `keeps`, it is the existing node, if there is one, as for a container that is requested twice.
    func entry(_ key: String, keeps: Bool) -> EncodingNode {
        guard case .dictionary(var nodes) = content else {
            return EncodingNode(userInfo: userInfo)
        }
        if keeps, let node = nodes[key] { return node }
        let node = EncodingNode(userInfo: userInfo)
        content = .empty
        nodes[key] = node
        content = .dictionary(nodes)
        return node
    }

    /// Returns the finished tree; `nil` for a `nil` value.
    ///
    /// A value that encoded nothing is an empty dictionary, as with Foundation's encoders.
    func finished(at path: [any CodingKey]) throws(EncodingError) -> PropertyListValue? {
        switch content {
        case .empty, .array, .dictionary:
            if path.count >= PropertyListValue.maximumDepth { throw PropertyListValueEncoder.tooDeep(self, at: path) }
        default: break
        }
        switch content {
        case .empty: return .dictionary([:])
        case .null: return nil
        case .value(let value): return value
        case .array(let nodes):
            var values: [PropertyListValue] = []
            values.reserveCapacity(nodes.count)
            for (index, node) in nodes.enumerated() {
                values.append(try node.finished(at: path + [IndexKey(index)]) ?? .nullInArray)
            }
            return .array(values)
        case .dictionary(let nodes):
            var values: [String: PropertyListValue] = [:]
            values.reserveCapacity(nodes.count)
            for (key, node) in nodes { values[key] = try node.finished(at: path + [NameKey(key)]) }
            return .dictionary(values)
        case .conflict:
            let sentence = "The value\(path.place) encodes itself twice, or as two kinds of container."
            throw .invalidValue(self, EncodingError.Context(codingPath: path, debugDescription: sentence))
        }
    }
}

/// The keyed container of a `PropertyListValueEncoder`.
struct KeyedValueEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodingNode
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) { node.entry(key.stringValue, keeps: false).set(nil) }

    // This method is also the witness for the requirements of all scalar types.
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try PropertyListValueEncoder.encode(
            value, into: node.entry(key.stringValue, keeps: false), at: codingPath + [key])
    }

    func encode(_ value: Int128, forKey key: Key) throws { try valueEncoder(for: key).encode(value) }

    func encode(_ value: UInt128, forKey key: Key) throws { try valueEncoder(for: key).encode(value) }

    private func valueEncoder(for key: Key) -> SingleValueEncoding {
        SingleValueEncoding(node: node.entry(key.stringValue, keeps: false), codingPath: codingPath + [key])
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

    private func encoder(for key: any CodingKey) -> PropertyListValueEncoder {
        PropertyListValueEncoder(node: node.entry(key.stringValue, keeps: true), codingPath: codingPath + [key])
    }
}

/// The unkeyed container of a `PropertyListValueEncoder`.
struct UnkeyedValueEncoding: UnkeyedEncodingContainer {
    let node: EncodingNode
    let codingPath: [any CodingKey]

    var count: Int { node.count }

    func encodeNil() { node.append().set(nil) }

    // This method is also the witness for the requirements of all scalar types.
    func encode<Value: Encodable>(_ value: Value) throws {
        let path = codingPath + [IndexKey(count)]
        try PropertyListValueEncoder.encode(value, into: node.append(), at: path)
    }

    func encode(_ value: Int128) throws { try valueEncoder().encode(value) }

    func encode(_ value: UInt128) throws { try valueEncoder().encode(value) }

    private func valueEncoder() -> SingleValueEncoding {
        let path = codingPath + [IndexKey(count)]
        return SingleValueEncoding(node: node.append(), codingPath: path)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        superValueEncoder().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superValueEncoder().unkeyedContainer() }

    func superEncoder() -> any Encoder { superValueEncoder() }

    private func superValueEncoder() -> PropertyListValueEncoder {
        let path = codingPath + [IndexKey(count)]
        return PropertyListValueEncoder(node: node.append(), codingPath: path)
    }
}

/// The single-value container of a `PropertyListValueEncoder`.
struct SingleValueEncoding: SingleValueEncodingContainer {
    let node: EncodingNode
    let codingPath: [any CodingKey]

    func encodeNil() { node.set(nil) }

    // This method is also the witness for the requirements of all scalar types.
    func encode<Value: Encodable>(_ value: Value) throws {
        try PropertyListValueEncoder.encode(value, into: node, at: codingPath)
    }

    // The widest integers encode themselves by calling these, so the witness above would recurse forever.
    func encode(_ value: Int128) throws { try encode(wide: value) }

    func encode(_ value: UInt128) throws { try encode(wide: value) }

    private func encode(wide value: some FixedWidthInteger) throws {
        if let number = Int64(exactly: value) { return node.set(.integer(number)) }
        if let number = UInt64(exactly: value) { return node.set(.unsigned(number)) }
        let sentence = "The number \(value)\(codingPath.place) needs more than the 64 bits a property list has."
        throw EncodingError.invalidValue(
            value, EncodingError.Context(codingPath: codingPath, debugDescription: sentence))
    }
}
