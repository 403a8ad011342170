import PropertyList

/// The single-value container of a `ValueDecoder`.
struct SingleValueDecoding: SingleValueDecodingContainer {
    let decoder: ValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value == .nullInArray }

    // This is the witness of the requirements for all scalar types as well.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.decode(type) }

    // The widest integers decode themselves by calling these, so the witness above would call itself for ever.
    func decode(_ type: Int128.Type) throws -> Int128 { try decode(wide: type) }

    func decode(_ type: UInt128.Type) throws -> UInt128 { try decode(wide: type) }

    private func decode<Number: FixedWidthInteger>(wide type: Number.Type) throws -> Number {
        if decoder.value.coercedInteger < 0 { return try Number(exactly: decode(Int64.self)) ?? unsigned() }
        return try unsigned()
    }

    private func unsigned<Number: FixedWidthInteger>() throws -> Number { Number(try decode(UInt64.self)) }
}
