public import PropertyList

extension PropertyListValue {
    /// Encodes a value as a native tree.
    ///
    /// Strings, Booleans, numbers of every width (exactly), `Date` and `Data` are stored as such. A `URL` is stored as
    /// by `UserDefaults`: as a path or an archive. In a keyed container, a `nil` is left out and reads back as `nil`.
    /// In an unkeyed container, leaving it out would move the other elements, so it becomes the string "$null", as with
    /// Foundation's `PropertyListEncoder`. So does a top-level `nil`. A value that encodes nothing becomes an empty
    /// dictionary.
    ///
    /// ```swift
    /// let tree = try PropertyListValue(encoding: window)  // ["x": 10, "y": 20]
    /// ```
    ///
    /// - Parameters:
    ///   - value: Any `Encodable` value.
    ///   - userInfo: The `userInfo` of the encoder that the values' own `encode(to:)` receives.
    /// - Throws: An `EncodingError` if a value encodes itself twice or nests more than 499 containers (a file may nest
    ///   500, including the domain itself), or the error of a value that can't be encoded.
    public init(encoding value: some Encodable, userInfo: [CodingUserInfoKey: Any] = [:]) throws {
        let node = EncodingNode(userInfo: userInfo)
        try PropertyListValueEncoder.encode(value, into: node, at: [])
        self = try node.finished(at: []) ?? .nullInArray
    }

    /// Decodes a value from a native tree.
    ///
    /// Whole numbers and reals are converted to each other if only a real's precision is lost. Anything else must have
    /// the requested type. Where an `Optional` is requested, a missing key and the string "$null" decode as `nil`. For
    /// a property of the type `String?`, "$null" is an ordinary text.
    ///
    /// - Parameters:
    ///   - type: Any `Decodable` type.
    ///   - userInfo: The `userInfo` of the decoder that the values' own `init(from:)` receives.
    /// - Returns: The value.
    /// - Throws: A `DecodingError` whose coding path leads to the invalid value, or the type's own error.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, userInfo: [CodingUserInfoKey: Any] = [:]
    ) throws -> Value {
        try PropertyListValueDecoder.decode(type, from: self, readsText: false, userInfo: userInfo)
    }

    /// The string that stands for `nil` where something must be stored, as in Foundation.
    static let nullInArray = PropertyListValue.string("$null")
}
