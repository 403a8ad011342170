public import DefaultsKit
public import Foundation
public import PropertyList

extension NSNull: PropertyListConvertible {
    /// No value: a key is removed, and a dictionary's entry left out; in an array it is an error.
    public var propertyListValue: PropertyListValue? { nil }
}
