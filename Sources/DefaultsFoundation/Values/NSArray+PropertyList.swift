public import DefaultsKit
public import Foundation
public import PropertyList

extension NSArray: PropertyListConvertible, ElementsInOrder {
    /// An array of what its elements are stored as.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(any: self, forKey: "") }
    }

    /// The elements.
    package var elements: [Any] { map { $0 } }
}
