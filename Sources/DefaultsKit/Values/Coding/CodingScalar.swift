import PropertyList

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A type that an encoder writes as one value, instead of asking it to encode itself.
///
/// Its `init(propertyListValue:)` also reads text; `exact(_:)` doesn't, like Foundation's `PropertyListDecoder`.
protocol CodingScalar: DefaultsValue {
    /// Returns the value if it is stored as this type and fits.
    static func exact(_ value: PropertyListValue) -> Self?
    /// The expected kind of value, as an error message names it.
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
    /// Returns the URL, also from a dictionary in which Foundation's `PropertyListEncoder` stores one.
    static func exact(_ value: PropertyListValue) -> Self? {
        guard case .dictionary(let fields) = value else { return value.url() }
        guard case .string(let relative)? = fields["relative"] else { return nil }
        guard let base = fields["base"] else { return URL(string: relative) }
        return exact(base).flatMap { URL(string: relative, relativeTo: $0) }
    }
    static var expectation: String { "a URL" }
}

/// A dictionary's key in a coding path.
struct NameKey: CodingKey {
    let stringValue: String

    init(_ name: String) { stringValue = name }

    init?(stringValue: String) { self.init(stringValue) }

    init?(intValue: Int) { self.init(String(intValue)) }

    /// The number in the name, for dictionaries whose keys are numbers.
    var intValue: Int? { Int(stringValue) }
}

/// An array's index in a coding path.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }

    init?(stringValue: String) { nil }

    init?(intValue: Int) { self.init(intValue) }

    var stringValue: String { "Index \(index)" }
    var intValue: Int? { index }
}

extension [any CodingKey] {
    /// The path as part of a sentence, such as ` at "window.size[2]"`; empty for the outermost value.
    var place: String {
        guard !isEmpty else { return "" }
        var text = ""
        for key in self {
            if let key = key as? IndexKey {
                text += "[\(key.index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return " at \"\(text)\""
    }
}
