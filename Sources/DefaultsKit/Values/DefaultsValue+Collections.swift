public import PropertyList

extension PropertyListValue: DefaultsValue {
    /// Creates the value as it is stored.
    public init?(propertyListValue: PropertyListValue) {
        self = propertyListValue
    }

    /// The value itself.
    public var propertyListValue: PropertyListValue? { self }
}

extension Optional: PropertyListConvertible where Wrapped: PropertyListConvertible {
    /// The stored form of the wrapped value; `nil`, which removes a key, if there is none.
    public var propertyListValue: PropertyListValue? {
        get throws { try self?.propertyListValue }
    }
}

extension Optional: DefaultsValue where Wrapped: DefaultsValue {
    /// Creates the wrapped value; `.some(nil)` for the string "$null", unless it is a `Wrapped`.
    ///
    /// Anything else that isn't a `Wrapped` gives `nil`, as with other types, so that a key's default applies.
    public init?(propertyListValue: PropertyListValue) {
        if let value = Wrapped(propertyListValue: propertyListValue) {
            self = value
        } else if propertyListValue == .nullInArray {
            self = .none
        } else {
            return nil
        }
    }
}

extension Array: PropertyListConvertible where Element: PropertyListConvertible {
    /// An array; an element that is `nil` becomes the string "$null", as Foundation's `PropertyListEncoder` writes it.
    public var propertyListValue: PropertyListValue? {
        get throws { .array(try map { try $0.propertyListValue ?? .nullInArray }) }
    }
}

extension Array: DefaultsValue where Element: DefaultsValue {
    /// Creates the elements from an array; `nil` unless all of them can be read.
    public init?(propertyListValue: PropertyListValue) {
        guard case .array(let values) = propertyListValue else { return nil }
        self.init()
        reserveCapacity(values.count)
        for value in values {
            guard let element = Element.element(value) else { return nil }
            append(element)
        }
    }
}

extension DefaultsValue {
    /// Returns the value of an array's element, where the string "$null" stands for `nil`.
    fileprivate static func element(_ value: PropertyListValue) -> Self? {
        if value == .nullInArray, let optional = Self.self as? any OptionalValue.Type {
            return optional.nothing as? Self
        }
        return Self(propertyListValue: value)
    }
}

extension Set: PropertyListConvertible where Element: PropertyListConvertible {
    /// An array whose order is the same for equal sets, so that storing an equal set changes nothing.
    public var propertyListValue: PropertyListValue? {
        get throws {
            let values = try map { try $0.propertyListValue ?? .nullInArray }
            // Only the bytes give values of all types an order.
            let sortable = try values.map { (value: $0, bytes: try $0.write(as: .binary)) }
            return .array(sortable.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map(\.value))
        }
    }
}

extension Set: DefaultsValue where Element: DefaultsValue {
    /// Creates the elements from an array, without duplicates; `nil` unless all of them can be read.
    public init?(propertyListValue: PropertyListValue) {
        guard let elements = [Element](propertyListValue: propertyListValue) else { return nil }
        self.init(elements)
    }
}

extension Dictionary: PropertyListConvertible where Key: CodingKeyRepresentable, Value: PropertyListConvertible {
    /// A dictionary; entries whose value is `nil` are left out.
    public var propertyListValue: PropertyListValue? {
        get throws {
            var values: [String: PropertyListValue] = [:]
            values.reserveCapacity(count)
            for (key, value) in self { values[key.codingKey.stringValue] = try value.propertyListValue }
            return .dictionary(values)
        }
    }
}

/// A key is a string, a whole number, or an enumeration with such raw values that conforms to `CodingKeyRepresentable`
/// and `DefaultsValue`.
extension Dictionary: DefaultsValue where Key: CodingKeyRepresentable & DefaultsValue, Value: DefaultsValue {
    /// Creates the entries from a dictionary; `nil` unless all keys and values can be read.
    public init?(propertyListValue: PropertyListValue) {
        guard case .dictionary(let values) = propertyListValue else { return nil }
        self.init(minimumCapacity: values.count)
        for (name, value) in values {
            guard let key = Key(codingKey: NameKey(name)), let value = Value(propertyListValue: value)
            else { return nil }
            self[key] = value
        }
    }
}

extension Range: PropertyListConvertible where Bound: PropertyListConvertible {
    /// An array of the two bounds.
    public var propertyListValue: PropertyListValue? {
        get throws { try [lowerBound, upperBound].propertyListValue }
    }
}

/// A range is stored as an array of its two bounds, as its `Codable` conformance encodes it.
extension Range: DefaultsValue where Bound: DefaultsValue {
    /// Creates the range from an array of two bounds; `nil` if the first is greater than the second.
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
    /// Creates the range from an array of two bounds; `nil` if the first is greater than the second.
    public init?(propertyListValue: PropertyListValue) {
        guard let bounds = [Bound](propertyListValue: propertyListValue), bounds.count == 2, bounds[0] <= bounds[1]
        else { return nil }
        self = bounds[0]...bounds[1]
    }
}
