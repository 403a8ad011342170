public import DefaultsKit
public import Foundation
public import PropertyList

extension NSURL: PropertyListConvertible {
    /// What `URL` is stored as: a path with "~" for the home directory, or an archived `NSURL`.
    public var propertyListValue: PropertyListValue? {
        get throws { try (self as URL).propertyListValue }
    }
}
