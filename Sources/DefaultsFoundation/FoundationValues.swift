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
    /// A date; binary files store fractions of a second, XML files only whole seconds.
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
    /// No value: setting it removes a key, a dictionary entry is omitted, and in an array it is an error.
    public var propertyListValue: PropertyListValue? { nil }
}

extension NSNumber: PropertyListConvertible {
    /// The number, in the kind that it was created with: a Boolean, an integer, or a 32-bit or 64-bit real.
    ///
    /// An `NSDecimalNumber` is stored like a `Decimal`.
    public var propertyListValue: PropertyListValue? {
        if let decimal = self as? NSDecimalNumber { return decimal.decimalValue.propertyListValue }
        // Compare identities: Foundation has one object for each Boolean, but its type is "c", like that of 8-bit
        // integers.
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
    /// The string; for a mutable string, its current contents.
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
    /// Creates a number from any value that can be read as a `Double`.
    public init?(propertyListValue: PropertyListValue) {
        guard let number = Double(propertyListValue: propertyListValue) else { return nil }
        self.init(number)
    }

    /// A 64-bit real.
    public var propertyListValue: PropertyListValue? { .real(Double(self)) }
}
