public import DefaultsKit
public import Foundation
public import PropertyList

extension NSArray: PropertyListConvertible, ElementsInOrder {
    /// An array of the elements' stored forms.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(any: self, forKey: "") }
    }

    /// The elements.
    package var elements: [Any] { map { $0 } }
}

extension NSData: PropertyListConvertible {
    /// The data; for mutable data, its current contents.
    public var propertyListValue: PropertyListValue? { .data([UInt8](self as Data)) }
}

extension NSDate: PropertyListConvertible {
    /// A date; binary files keep fractions of a second, XML files only whole seconds.
    public var propertyListValue: PropertyListValue? {
        .date(PropertyListDate(secondsSinceReferenceDate: timeIntervalSinceReferenceDate))
    }
}

extension NSDictionary: PropertyListConvertible, EntriesByKey {
    /// A dictionary of the values' stored forms; a key that isn't a string is an error.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(any: self, forKey: "") }
    }

    /// The entries, if all keys are strings.
    package var entries: [String: Any]? {
        var entries: [String: Any] = [:]
        for (key, value) in self {
            guard let text = key as? NSString else { return nil }
            entries[text as String] = value
        }
        return entries
    }
}

extension NSNull: PropertyListConvertible {
    /// No value: a key is removed, and a dictionary's entry is omitted; in an array it is an error.
    public var propertyListValue: PropertyListValue? { nil }
}

extension NSNumber: PropertyListConvertible {
    /// The number in the kind that it was created as: a Boolean, an integer, a 32-bit or a 64-bit real.
    ///
    /// A decimal number is stored as `Decimal` is.
    public var propertyListValue: PropertyListValue? {
        if let decimal = self as? NSDecimalNumber { return decimal.decimalValue.propertyListValue }
        // Foundation has one object for each Boolean, whose type is "c", as for 8-bit integers.
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

extension NSString: PropertyListConvertible {
    /// The string; for a mutable one, its current contents.
    public var propertyListValue: PropertyListValue? { .string(self as String) }
}

extension NSURL: PropertyListConvertible {
    /// The stored form of a `URL`: a path with "~" for the home directory, or an archived `NSURL`.
    public var propertyListValue: PropertyListValue? {
        get throws { try (self as URL).propertyListValue }
    }
}

extension NSUUID: PropertyListConvertible {
    /// The string in uppercase, as `UUID` is stored.
    public var propertyListValue: PropertyListValue? { .string(uuidString) }
}

extension CGFloat: DefaultsValue {
    /// Creates a number from any value that a `Double` can be read from.
    public init?(propertyListValue: PropertyListValue) {
        guard let number = Double(propertyListValue: propertyListValue) else { return nil }
        self.init(number)
    }

    /// A 64-bit real.
    public var propertyListValue: PropertyListValue? { .real(Double(self)) }
}
