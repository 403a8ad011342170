import PropertyList

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Date {
    /// Creates a date from a property list date, including fractions of a second.
    init(_ date: PropertyListDate) {
        self.init(timeIntervalSinceReferenceDate: date.secondsSinceReferenceDate)
    }
}

extension PropertyListDate {
    /// Creates a property list date, including fractions of a second.
    init(_ date: Date) {
        self.init(secondsSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    }
}
