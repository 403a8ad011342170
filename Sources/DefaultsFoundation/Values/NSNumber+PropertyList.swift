public import DefaultsKit
public import Foundation
public import PropertyList

extension NSNumber: PropertyListConvertible {
    /// The number as the kind that it was made as: a Boolean, a whole number, a 32-bit or a 64-bit real.
    ///
    /// A decimal number is stored as `Decimal` is.
    public var propertyListValue: PropertyListValue? {
        if let decimal = self as? NSDecimalNumber { return decimal.decimalValue.propertyListValue }
        // Foundation has one object for each Boolean, and calls it "c" as it does a whole number of 8 bits.
        if self === Self.yes || self === Self.no { return .boolean(boolValue) }
        switch UInt8(bitPattern: objCType.pointee) {
        case UInt8(ascii: "f"): return .real32(floatValue)
        case UInt8(ascii: "d"): return .real(doubleValue)
        case UInt8(ascii: "Q"): return .number(uint64Value)
        default: return .integer(int64Value)
        }
    }

    private static var yes: NSNumber { NSNumber(value: true) }
    private static var no: NSNumber { NSNumber(value: false) }
}
