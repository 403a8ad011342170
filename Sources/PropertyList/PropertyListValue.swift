/// A value that a property list can hold.
///
/// A property list is a tree of these values. The type is a plain value: copies are independent, and any thread may
/// use any copy.
///
/// Equality is exact (see `==`), so that "nothing changed" can be decided by comparing. Dictionary keys are Swift
/// strings: two keys that are canonically equivalent Unicode are one key.
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
    /// A whole number that fits a signed 64-bit integer.
    case integer(Int64)
    /// A whole number above `Int64.max`; a smaller one is always `integer`.
    case unsigned(UInt64)
    /// A 64-bit floating-point number.
    case real(Double)
    /// A real that a binary property list keeps in 32 bits.
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

    /// Makes a whole number: `integer` when it fits, else `unsigned`.
    public static func number(_ value: UInt64) -> PropertyListValue {
        Int64(exactly: value).map(PropertyListValue.integer) ?? .unsigned(value)
    }
}
