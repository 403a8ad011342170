public import PropertyList

extension PropertyListValue: DefaultsValue {
    /// The value as it is.
    public init?(propertyListValue: PropertyListValue) {
        self = propertyListValue
    }

    /// The value as it is.
    public var propertyListValue: PropertyListValue? { self }
}

extension Optional: PropertyListConvertible where Wrapped: PropertyListConvertible {
    /// The value, or nil: then a key is removed.
    public var propertyListValue: PropertyListValue? {
        get throws { try self?.propertyListValue }
    }
}

extension Optional: DefaultsValue where Wrapped: DefaultsValue {
    /// The value; `.some(nil)` for the string "$null", which stands for nil in arrays.
    ///
    /// What isn't a `Wrapped` gives nil, as for other types, so that a default other than nil stands.
    public init?(propertyListValue: PropertyListValue) {
        if propertyListValue == .nullInArray {
            self = .none
        } else if let value = Wrapped(propertyListValue: propertyListValue) {
            self = value
        } else {
            return nil
        }
    }
}

extension Array: PropertyListConvertible where Element: PropertyListConvertible {
    /// An array; nil elements become the string "$null", as in what Foundation's `PropertyListEncoder` writes.
    public var propertyListValue: PropertyListValue? {
        get throws { .array(try map { try $0.propertyListValue ?? .nullInArray }) }
    }
}

extension Array: DefaultsValue where Element: DefaultsValue {
    /// The elements, if it is an array and all of them can be read.
    public init?(propertyListValue: PropertyListValue) {
        guard case .array(let values) = propertyListValue else { return nil }
        self.init()
        reserveCapacity(values.count)
        for value in values {
            guard let element = Element(propertyListValue: value) else { return nil }
            append(element)
        }
    }
}

extension Set: PropertyListConvertible where Element: PropertyListConvertible {
    /// An array; equal sets give equal arrays, so that storing the same again is no change.
    public var propertyListValue: PropertyListValue? {
        get throws {
            let values = try map { try $0.propertyListValue ?? .nullInArray }
            // The bytes of a value are the one order that all values have.
            let sortable = try values.map { (value: $0, bytes: try $0.write(as: .binary)) }
            return .array(sortable.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map(\.value))
        }
    }
}

extension Set: DefaultsValue where Element: DefaultsValue {
    /// The elements, if it is an array and all of them can be read; of equal ones one stays.
    public init?(propertyListValue: PropertyListValue) {
        guard let elements = [Element](propertyListValue: propertyListValue) else { return nil }
        self.init(elements)
    }
}

extension Dictionary: PropertyListConvertible where Key: CodingKeyRepresentable, Value: PropertyListConvertible {
    /// A dictionary; entries whose value is nil are left out.
    public var propertyListValue: PropertyListValue? {
        get throws {
            var values: [String: PropertyListValue] = [:]
            values.reserveCapacity(count)
            for (key, value) in self { values[key.codingKey.stringValue] = try value.propertyListValue }
            return .dictionary(values)
        }
    }
}

/// Keys are strings, whole numbers, or an enumeration of such that is declared `CodingKeyRepresentable` and `DefaultsValue`.
extension Dictionary: DefaultsValue where Key: CodingKeyRepresentable & DefaultsValue, Value: DefaultsValue {
    /// The entries, if it is a dictionary and all of its keys and values can be read.
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
