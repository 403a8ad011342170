import PropertyList

/// The single-value container of a `ValueEncoder`.
struct SingleValueEncoding: SingleValueEncodingContainer {
    let node: EncodingNode
    let codingPath: [any CodingKey]

    func encodeNil() { node.set(nil) }

    // This is the witness of the requirements for all scalar types as well.
    func encode<Value: Encodable>(_ value: Value) throws {
        try ValueEncoder.encode(value, into: node, at: codingPath)
    }

    // The widest integers encode themselves by calling these, so the witness above would call itself for ever.
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
