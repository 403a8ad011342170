public import DefaultsKit
public import Foundation
public import PropertyList

extension NSString: PropertyListConvertible {
    /// A string; of a mutable one, what it holds now.
    public var propertyListValue: PropertyListValue? { .string(self as String) }
}
