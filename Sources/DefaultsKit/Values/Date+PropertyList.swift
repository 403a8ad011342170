import FoundationEssentials
import PropertyList

extension Date {
    /// Makes a date from a property list's, fractions of a second and all.
    init(_ date: PropertyListDate) {
        self.init(timeIntervalSinceReferenceDate: date.secondsSinceReferenceDate)
    }
}

extension PropertyListDate {
    /// Makes a property list's date, fractions of a second and all.
    init(_ date: Date) {
        self.init(secondsSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    }
}
