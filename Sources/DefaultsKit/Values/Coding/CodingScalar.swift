import FoundationEssentials
import PropertyList

/// A type that an encoder writes as one value, and doesn't ask to encode itself.
///
/// Its `init(propertyListValue:)` reads text as well; `exact` doesn't, as Foundation's `PropertyListDecoder`.
protocol CodingScalar: DefaultsValue {
    /// The value, if it is stored as what it is, and fits.
    static func exact(_ value: PropertyListValue) -> Self?
    /// What an error says was expected.
    static var expectation: String { get }
}

extension CodingScalar where Self: FixedWidthInteger {
    static func exact(_ value: PropertyListValue) -> Self? { Self(wholeNumber: value) }
    static var expectation: String { "a whole number from \(Self.min) to \(Self.max)" }
}

extension Int: CodingScalar {}
extension Int8: CodingScalar {}
extension Int16: CodingScalar {}
extension Int32: CodingScalar {}
extension Int64: CodingScalar {}
extension UInt: CodingScalar {}
extension UInt8: CodingScalar {}
extension UInt16: CodingScalar {}
extension UInt32: CodingScalar {}
extension UInt64: CodingScalar {}

extension Double: CodingScalar {
    static func exact(_ value: PropertyListValue) -> Self? { Self(number: value) }
    static var expectation: String { "a number" }
}

extension Float: CodingScalar {
    static func exact(_ value: PropertyListValue) -> Self? { Self(number: value) }
    static var expectation: String { "a number that fits 32 bits" }
}

extension Bool: CodingScalar {
    static func exact(_ value: PropertyListValue) -> Self? {
        guard case .boolean(let flag) = value else { return nil }
        return flag
    }
    static var expectation: String { "a Boolean" }
}

extension String: CodingScalar {
    static func exact(_ value: PropertyListValue) -> Self? {
        guard case .string(let text) = value else { return nil }
        return text
    }
    static var expectation: String { "a string" }
}

extension Data: CodingScalar {
    static func exact(_ value: PropertyListValue) -> Self? { Self(propertyListValue: value) }
    static var expectation: String { "data" }
}

extension Date: CodingScalar {
    static func exact(_ value: PropertyListValue) -> Self? { Self(propertyListValue: value) }
    static var expectation: String { "a date" }
}

extension URL: CodingScalar {
    /// The URL, also from the dictionary that Foundation's `PropertyListEncoder` makes of one.
    static func exact(_ value: PropertyListValue) -> Self? {
        guard case .dictionary(let fields) = value else { return value.url() }
        guard case .string(let relative)? = fields["relative"] else { return nil }
        guard let base = fields["base"] else { return URL(string: relative) }
        return exact(base).flatMap { URL(string: relative, relativeTo: $0) }
    }
    static var expectation: String { "a URL" }
}
