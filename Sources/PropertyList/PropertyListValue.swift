/// A value that a property list can hold.
public enum PropertyListValue: Sendable {
    case string(String)
    /// A whole number that fits a signed 64-bit integer.
    case integer(Int64)
    /// A whole number above `Int64.max`; a smaller one is always `integer`.
    case unsigned(UInt64)
    case real(Double)
    /// A real that a binary property list keeps in 32 bits.
    case real32(Float)
    case boolean(Bool)
    case date(PropertyListDate)
    case data([UInt8])
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])
    /// An object's number in a keyed archive.
    case uid(UInt64)
}
