public import PropertyList

extension Range: PropertyListConvertible where Bound: PropertyListConvertible {
    /// An array of the two bounds.
    public var propertyListValue: PropertyListValue? {
        get throws { try [lowerBound, upperBound].propertyListValue }
    }
}

/// A range is stored as an array of its two bounds, as its `Codable` conformance encodes it.
extension Range: DefaultsValue where Bound: DefaultsValue {
    /// The range, if it is an array of two bounds of which the first isn't greater than the second.
    public init?(propertyListValue: PropertyListValue) {
        guard let bounds = [Bound](propertyListValue: propertyListValue), bounds.count == 2, bounds[0] <= bounds[1]
        else { return nil }
        self = bounds[0]..<bounds[1]
    }
}

extension ClosedRange: PropertyListConvertible where Bound: PropertyListConvertible {
    /// An array of the two bounds.
    public var propertyListValue: PropertyListValue? {
        get throws { try [lowerBound, upperBound].propertyListValue }
    }
}

/// A closed range is stored as an array of its two bounds, as its `Codable` conformance encodes it.
extension ClosedRange: DefaultsValue where Bound: DefaultsValue {
    /// The range, if it is an array of two bounds of which the first isn't greater than the second.
    public init?(propertyListValue: PropertyListValue) {
        guard let bounds = [Bound](propertyListValue: propertyListValue), bounds.count == 2, bounds[0] <= bounds[1]
        else { return nil }
        self = bounds[0]...bounds[1]
    }
}
