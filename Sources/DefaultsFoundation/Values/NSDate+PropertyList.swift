public import DefaultsKit
public import Foundation
public import PropertyList

extension NSDate: PropertyListConvertible {
    /// A date; binary files keep fractions of a second, XML files whole seconds.
    public var propertyListValue: PropertyListValue? {
        .date(PropertyListDate(secondsSinceReferenceDate: timeIntervalSinceReferenceDate))
    }
}
