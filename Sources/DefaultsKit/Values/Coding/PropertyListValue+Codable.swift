public import PropertyList

extension PropertyListValue {
    /// Encodes a value as a native tree.
    ///
    /// Strings, Booleans, numbers of every width (exact), `Date` and `Data` become what they are. A `URL` is stored as
    /// by `UserDefaults`: a path, or an archive. A nil is left out of a keyed container, and reads back as nil; in an
    /// unkeyed one, where it would move the others, it becomes the string "$null", as with Foundation's
    /// `PropertyListEncoder`, and so does nil itself. What encodes nothing becomes an empty dictionary.
    ///
    /// ```swift
    /// let tree = try PropertyListValue(encoding: window)  // ["x": 10, "y": 20]
    /// ```
    ///
    /// - Parameter value: Any `Encodable` value.
    /// - Throws: An `EncodingError` when a value encodes itself twice or nests more than 499 containers (a file may nest 500,
    ///   of which the domain is one), or whatever a value throws that can't be encoded.
    public init(encoding value: some Encodable) throws {
        let node = EncodingNode()
        try ValueEncoder.encode(value, into: node, at: [])
        self = try node.finished(at: []) ?? .nullInArray
    }

    /// Decodes a value from a native tree.
    ///
    /// Numbers convert between whole numbers and reals as long as nothing is lost but a real's precision; all else must
    /// be of the type asked for. A missing key and the string "$null" are nil where an `Optional` is asked for.
    ///
    /// - Parameter type: Any `Decodable` type.
    /// - Returns: The value.
    /// - Throws: A `DecodingError` whose coding path leads to the culprit, or whatever the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try ValueDecoder.decode(type, from: self, readsText: false)
    }

    /// What stands for nil where something must stand; it is Foundation's choice as well.
    static let nullInArray = PropertyListValue.string("$null")
}
