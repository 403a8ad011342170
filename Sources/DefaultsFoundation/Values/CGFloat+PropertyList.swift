public import DefaultsKit
public import Foundation
public import PropertyList

extension CGFloat: DefaultsValue {
    /// What a `Double` is read from.
    public init?(propertyListValue: PropertyListValue) {
        guard let number = Double(propertyListValue: propertyListValue) else { return nil }
        self.init(number)
    }

    /// A real of 64 bits.
    public var propertyListValue: PropertyListValue? { .real(Double(self)) }
}
