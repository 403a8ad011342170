public import DefaultsKit
public import Foundation
public import PropertyList

extension NSData: PropertyListConvertible {
    /// Data; of mutable data, what it holds now.
    public var propertyListValue: PropertyListValue? { .data([UInt8](self as Data)) }
}
