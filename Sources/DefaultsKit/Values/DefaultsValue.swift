public import PropertyList

/// A type of value that a `DefaultsKey` can have.
///
/// The common types conform: Booleans, numbers of every width, text, `Data`, `Date`, `URL`, `UUID`,
/// `PropertyListValue`, and `Optional`s, arrays, sets, dictionaries and ranges of them. Enumerations with raw values,
/// option sets and `Codable` types only need to declare the conformance:
///
/// ```swift
/// enum Theme: String, DefaultsValue { case light, dark }
/// struct Window: Codable, DefaultsValue { var x = 0, y = 0 }
/// ```
///
/// A `Codable` value is stored as a native tree, which the `defaults` command can read and edit. A type that has a raw
/// value and is `Codable` is stored as its raw value. JSON in a string or in data, as other libraries store such
/// values, is read as well.
///
/// The command stores a string for `defaults write app size 5`. Therefore, numbers and Booleans are also read from
/// strings, and strings from numbers. The entire string must be a number or Boolean. An `Int` is read from "5" but not
/// from "abc" or "5 cm", for which the classic `integer(forKey:)` returns 0 or 5. A value that can't be read is left as
/// it is and reported once to the handler of `UserDefaults.setProblemHandler(_:)`; the read returns the key's default.
///
/// Any other type of yours implements both directions:
///
/// ```swift
/// extension Version: DefaultsValue {
///     init?(propertyListValue: PropertyListValue) {
///         guard let text = String(propertyListValue: propertyListValue) else { return nil }
///         self.init(text)
///     }
///     var propertyListValue: PropertyListValue? { .string(text) }
/// }
/// ```
public protocol DefaultsValue: PropertyListConvertible, Sendable {
    /// Creates a value from a stored value; fails if the stored value can't be read as this type.
    ///
    /// The initializer is called only if a value is stored; otherwise, the key's default is used.
    init?(propertyListValue: PropertyListValue)
}

/// A value with a raw value is stored as its raw value.
extension DefaultsValue where Self: RawRepresentable, RawValue: DefaultsValue {
    /// Creates the value from a stored raw value; `nil` if no case has that raw value.
    public init?(propertyListValue: PropertyListValue) {
        guard let rawValue = RawValue(propertyListValue: propertyListValue) else { return nil }
        self.init(rawValue: rawValue)
    }

    /// The stored form of the raw value.
    public var propertyListValue: PropertyListValue? {
        get throws { try rawValue.propertyListValue }
    }
}

/// A `Codable` value is stored as a native tree of dictionaries, arrays and scalars.
///
/// Numbers and Booleans in the tree are read from strings as well. JSON in a string or in data, as other libraries
/// store such values, is also read.
extension DefaultsValue where Self: Codable {
    /// Decodes a value from the tree or from JSON; `nil` if neither works.
    public init?(propertyListValue: PropertyListValue) {
        if let value = try? PropertyListValueDecoder.decode(Self.self, from: propertyListValue, readsText: true) {
            self = value
        } else if let value = StoredJSON.decode(Self.self, from: propertyListValue) {
            self = value
        } else {
            return nil
        }
    }

    /// The tree that `PropertyListValue(encoding:)` creates.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(encoding: self) }
    }
}

/// A type with both a raw value and a `Codable` conformance is stored as its raw value.
extension DefaultsValue where Self: RawRepresentable & Codable, RawValue: DefaultsValue {
    /// Creates the value from a stored raw value, or from one in JSON; `nil` if no case has that raw value.
    public init?(propertyListValue: PropertyListValue) {
        if let rawValue = RawValue(propertyListValue: propertyListValue), let value = Self(rawValue: rawValue) {
            self = value
        } else if let value = StoredJSON.decode(Self.self, from: propertyListValue) {
            self = value
        } else {
            return nil
        }
    }

    /// The stored form of the raw value.
    public var propertyListValue: PropertyListValue? {
        get throws { try rawValue.propertyListValue }
    }
}
