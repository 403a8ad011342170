public import DefaultsKit
public import Foundation
public import PropertyList

extension NSUUID: PropertyListConvertible {
    /// A string, in upper case, as `UUID` is stored.
    public var propertyListValue: PropertyListValue? { .string(uuidString) }
}
