public import PropertyList

/// A `Codable` value is stored as a native tree; numbers and Booleans in it are read from strings as well.
///
/// JSON in a string or in data, as other libraries store such values, is read, too.
extension DefaultsValue where Self: Codable {
    /// The value that decodes from the tree, or from JSON; nil if none does.
    public init?(propertyListValue: PropertyListValue) {
        if let value = try? ValueDecoder.decode(Self.self, from: propertyListValue, readsText: true) {
            self = value
        } else if let value = StoredJSON.decode(Self.self, from: propertyListValue) {
            self = value
        } else {
            return nil
        }
    }

    /// The tree, as `PropertyListValue(encoding:)` makes it.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(encoding: self) }
    }
}

/// Of a raw value and a coded tree, the raw value is stored.
extension DefaultsValue where Self: RawRepresentable & Codable, RawValue: DefaultsValue {
    /// The value of a stored raw value, or of one in JSON; nil if no case has it.
    public init?(propertyListValue: PropertyListValue) {
        if let rawValue = RawValue(propertyListValue: propertyListValue), let value = Self(rawValue: rawValue) {
            self = value
        } else if let value = StoredJSON.decode(Self.self, from: propertyListValue) {
            self = value
        } else {
            return nil
        }
    }

    /// The raw value.
    public var propertyListValue: PropertyListValue? {
        get throws { try rawValue.propertyListValue }
    }
}
