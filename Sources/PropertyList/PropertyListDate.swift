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

    /// Whether the date is in the years 0 to 9999, which every format can express.
    package var isInCalendar: Bool { CivilTime(self) != nil }

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

extension PropertyListValue {
    /// Whether a date in it, at any depth, is outside the years 0 to 9999, so that no text can express it.
    package var hasDateBeyondCalendar: Bool {
        switch self {
        case .date(let date): !date.isInCalendar
        case .array(let elements): elements.contains(where: \.hasDateBeyondCalendar)
        case .dictionary(let entries): entries.values.contains(where: \.hasDateBeyondCalendar)
        case .string, .integer, .unsigned, .real, .real32, .boolean, .data, .uid: false
        }
    }
}
