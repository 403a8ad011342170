/// An instant as property lists keep it: seconds since 2001-01-01 00:00:00 UTC, leap seconds not counted.
///
/// Any number of seconds is allowed, infinities and NaN included, as a binary property list may hold them. XML can
/// express whole seconds of the years 0 to 9999 only.
public struct PropertyListDate: Sendable, Hashable, Comparable {
    /// Seconds, fractions included, since 2001-01-01 00:00:00 UTC.
    public var secondsSinceReferenceDate: Double

    /// Makes a date from seconds since 2001-01-01 00:00:00 UTC.
    public init(secondsSinceReferenceDate: Double) {
        self.secondsSinceReferenceDate = secondsSinceReferenceDate
    }

    /// Whether both are the same instant; a date of NaN equals itself.
    public static func == (first: Self, second: Self) -> Bool {
        first.secondsSinceReferenceDate == second.secondsSinceReferenceDate
            || (first.secondsSinceReferenceDate.isNaN && second.secondsSinceReferenceDate.isNaN)
    }

    /// Whether the first date is before the second.
    public static func < (first: Self, second: Self) -> Bool {
        first.secondsSinceReferenceDate < second.secondsSinceReferenceDate
    }

    /// Feeds what `==` compares to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(secondsSinceReferenceDate.isNaN ? .nan : secondsSinceReferenceDate)
    }
}
