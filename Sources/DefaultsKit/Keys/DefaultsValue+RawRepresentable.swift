public import PropertyList

/// What has a raw value is stored as that.
extension DefaultsValue where Self: RawRepresentable, RawValue: DefaultsValue {
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
