/// A value that a property list can contain.
///
/// A property list is a tree of these values. The type is a plain value: copies are independent, and any thread may
/// use any copy.
///
/// Equality is exact (see `==`), so a comparison shows whether anything has changed. Dictionary keys are Swift strings,
/// so a dictionary has only one of two canonically equivalent keys.
///
/// ```swift
/// let (settings, format) = try PropertyListValue.read(bytes)
/// if case .dictionary(var domain) = settings {
///     domain["Volume"] = .integer(11)
///     let text = try PropertyListValue.dictionary(domain).write(as: format)
/// }
/// ```
public enum PropertyListValue: Sendable {
    /// Text.
    case string(String)
    /// A whole number that fits in a signed 64-bit integer.
    case integer(Int64)
    /// A whole number above `Int64.max`; a smaller one is always `integer`.
    case unsigned(UInt64)
    /// A 64-bit floating-point number.
    case real(Double)
    /// A real that a binary property list stores in 32 bits.
    case real32(Float)
    /// True or false.
    case boolean(Bool)
    /// An instant.
    case date(PropertyListDate)
    /// Bytes.
    case data([UInt8])
    /// Values in order.
    case array([PropertyListValue])
    /// Values by key.
    case dictionary([String: PropertyListValue])
    /// An object's number in a keyed archive.
    case uid(UInt64)

    /// Creates a whole number: `integer` if it fits, else `unsigned`.
    public static func number(_ value: UInt64) -> PropertyListValue {
        Int64(exactly: value).map(PropertyListValue.integer) ?? .unsigned(value)
    }
}

extension PropertyListValue {
    /// Returns whether the nesting depth, including the value itself, is at most `depth`.
    ///
    /// The check stops at that depth, so an untrusted value needs no more stack than a value that fits.
    package func fits(depth: Int) -> Bool {
        switch self {
        case .array(let elements): depth > 0 && elements.allSatisfy { $0.fits(depth: depth - 1) }
        case .dictionary(let entries): depth > 0 && entries.values.allSatisfy { $0.fits(depth: depth - 1) }
        case .string, .integer, .unsigned, .real, .real32, .boolean, .date, .data, .uid: true
        }
    }
}

extension PropertyListValue: ExpressibleByStringLiteral {
    /// Creates a string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}

extension PropertyListValue: ExpressibleByIntegerLiteral {
    /// Creates an integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }
}

extension PropertyListValue: ExpressibleByFloatLiteral {
    /// Creates a 64-bit real.
    public init(floatLiteral value: Double) {
        self = .real(value)
    }
}

extension PropertyListValue: ExpressibleByBooleanLiteral {
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) {
        self = .boolean(value)
    }
}

extension PropertyListValue: ExpressibleByArrayLiteral {
    /// Creates an array.
    public init(arrayLiteral elements: PropertyListValue...) {
        self = .array(elements)
    }
}

extension PropertyListValue: ExpressibleByDictionaryLiteral {
    /// Creates a dictionary; if keys are equal, the last one's value wins.
    public init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        self = .dictionary(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

extension PropertyListValue {
    /// The kind of value, with an indefinite article where it needs one.
    package var kind: String {
        switch self {
        case .string: "a string"
        case .integer, .unsigned: "a whole number"
        case .real, .real32: "a real"
        case .boolean: "a Boolean"
        case .date: "a date"
        case .data: "data"
        case .array: "an array"
        case .dictionary: "a dictionary"
        case .uid: "an archive's object number"
        }
    }
}
