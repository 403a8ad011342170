import PropertyList

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A decoder that reads a property list value.
struct PropertyListValueDecoder: Decoder {
    let value: PropertyListValue
    let codingPath: [any CodingKey]
    /// Whether strings may stand for numbers and Booleans, as `defaults write` stores them.
    let readsText: Bool
    /// The caller's information for types that decode themselves.
    let userInfo: [CodingUserInfoKey: Any]

    static func decode<Value: Decodable>(
        _ type: Value.Type, from value: PropertyListValue, readsText: Bool, userInfo: [CodingUserInfoKey: Any] = [:]
    ) throws -> Value {
        try PropertyListValueDecoder(value: value, codingPath: [], readsText: readsText, userInfo: userInfo)
            .decode(type)
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

    /// Decodes the value at the decoder's position.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let scalar = type as? any CodingScalar.Type else { return try Value(from: self) }
        let read: (any CodingScalar)? = readsText ? scalar.init(propertyListValue: value) : scalar.exact(value)
        guard let result = read as? Value else { throw unreadable(scalar) }
        return result
    }

    /// Returns the decoder for an element.
    func decoder(for value: PropertyListValue, at key: any CodingKey) -> PropertyListValueDecoder {
        PropertyListValueDecoder(
            value: value, codingPath: codingPath + [key], readsText: readsText, userInfo: userInfo)
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

/// The keyed container of a `PropertyListValueDecoder`.
struct KeyedValueDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let values: [String: PropertyListValue]
    let decoder: PropertyListValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { values.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }

    /// Returns whether the key is missing, as for `nil`, or has the value "$null", as written by Foundation.
    func decodeNil(forKey key: Key) -> Bool { (values[key.stringValue] ?? .nullInArray) == .nullInArray }

    // This method is also the witness for the requirements of all scalar types.
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        if values[key.stringValue] == nil, let optional = type as? any OptionalValue.Type,
            let nothing = optional.nothing as? Value
        {
            return nothing
        }
        return try decoder(for: key).decode(type)
    }

    // "$null" is an ordinary text here: a missing one has no key.
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        contains(key) ? try decode(type, forKey: key) : nil
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try decoder(for: key).singleValueContainer().decode(type)
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try decoder(for: key).singleValueContainer().decode(type)
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

    /// Returns the decoder for a superclass, which has no entry if it encoded `nil` or nothing.
    private func superDecoder(for key: any CodingKey) -> PropertyListValueDecoder {
        decoder.decoder(for: values[key.stringValue] ?? .nullInArray, at: key)
    }

    private func decoder(for key: Key) throws -> PropertyListValueDecoder {
        guard let value = values[key.stringValue] else {
            let sentence = "There is no value\((codingPath + [key]).place)."
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: sentence))
        }
        return decoder.decoder(for: value, at: key)
    }
}

/// The unkeyed container of a `PropertyListValueDecoder`.
struct UnkeyedValueDecoding: UnkeyedDecodingContainer {
    let values: [PropertyListValue]
    let decoder: PropertyListValueDecoder
    private(set) var currentIndex = 0

    init(values: [PropertyListValue], decoder: PropertyListValueDecoder) {
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

    // This method is also the witness for the requirements of all scalar types.
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try next(type).decode(type)
        currentIndex += 1
        return value
    }

    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        let value = try next(type).singleValueContainer().decode(type)
        currentIndex += 1
        return value
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        let value = try next(type).singleValueContainer().decode(type)
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

    private func next(_ type: Any.Type) throws -> PropertyListValueDecoder {
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

/// The single-value container of a `PropertyListValueDecoder`.
struct SingleValueDecoding: SingleValueDecodingContainer {
    let decoder: PropertyListValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value == .nullInArray }

    // This method is also the witness for the requirements of all scalar types.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.decode(type) }

    // The widest integers decode themselves by calling these, so the witness above would recurse forever.
    func decode(_ type: Int128.Type) throws -> Int128 { try decode(wide: type) }

    func decode(_ type: UInt128.Type) throws -> UInt128 { try decode(wide: type) }

    private func decode<Number: FixedWidthInteger>(wide type: Number.Type) throws -> Number {
        if decoder.value.coercedInteger < 0 { return try Number(exactly: decode(Int64.self)) ?? unsigned() }
        return try unsigned()
    }

    private func unsigned<Number: FixedWidthInteger>() throws -> Number { Number(try decode(UInt64.self)) }
}

/// `Codable` values that another library stored as JSON, in a string or as data.
///
/// They are read so that a program can switch to this library without losing its users' settings. New values are stored
/// as a native tree.
enum StoredJSON {
    /// Returns the decoded value; `nil` if the stored value isn't JSON or doesn't decode as this type.
    static func decode<Value: Decodable>(_ type: Value.Type, from value: PropertyListValue) -> Value? {
        let bytes: [UInt8]
        switch value {
        case .string(let text): bytes = [UInt8](text.utf8)
        case .data(let data): bytes = data
        default: return nil
        }
        guard begins(bytes) else { return nil }
        return try? JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Returns whether the bytes may be an object, an array or a string; a number or a Boolean is read without JSON.
    private static func begins(_ bytes: [UInt8]) -> Bool {
        let first = bytes.first { byte in !" \t\r\n".utf8.contains(byte) }
        return first.map("{[\"".utf8.contains) ?? false
    }
}
