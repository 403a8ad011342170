/// An instant as property lists keep it: seconds since 2001-01-01 00:00:00 UTC, leap seconds not counted.
public struct PropertyListDate: Sendable, Hashable, Comparable {
    /// Seconds, fractions included, since 2001-01-01 00:00:00 UTC.
    public var secondsSinceReferenceDate: Double

    /// Makes a date from seconds since 2001-01-01 00:00:00 UTC.
    public init(secondsSinceReferenceDate: Double) {
        self.secondsSinceReferenceDate = secondsSinceReferenceDate
    }

    /// Whether the first date is before the second.
    public static func < (first: Self, second: Self) -> Bool {
        first.secondsSinceReferenceDate < second.secondsSinceReferenceDate
    }
}
