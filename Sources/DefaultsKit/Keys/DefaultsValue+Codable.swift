public import PropertyList

/// What is `Codable` is stored as a native tree; numbers and Booleans in it are read from strings as well.
extension DefaultsValue where Self: Codable {
    /// The value that decodes from the tree; nil if none does.
    public init?(propertyListValue: PropertyListValue) {
        guard let value = try? ValueDecoder.decode(Self.self, from: propertyListValue, readsText: true) else {
            return nil
        }
        self = value
    }

    /// The tree, as `PropertyListValue(encoding:)` makes it.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(encoding: self) }
    }
}

/// Of a raw value and a coded tree, the raw value is stored.
extension DefaultsValue where Self: RawRepresentable & Codable, RawValue: DefaultsValue {
    /// The value of a stored raw value; nil if no case has it.
    public init?(propertyListValue: PropertyListValue) {
        guard let rawValue = RawValue(propertyListValue: propertyListValue) else { return nil }
        self.init(rawValue: rawValue)
    }

    /// The raw value.
    public var propertyListValue: PropertyListValue? {
        get throws { try rawValue.propertyListValue }
    }
}
