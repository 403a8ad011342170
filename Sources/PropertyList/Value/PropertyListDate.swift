/// An instant as property lists store it: seconds since 2001-01-01 00:00:00 UTC, not counting leap seconds.
///
/// Any number of seconds is allowed, including infinities and NaN, because a binary property list may contain them. XML
/// can represent only whole seconds in the years 0 to 9999.
public struct PropertyListDate: Sendable, Hashable, Comparable {
    /// Seconds since 2001-01-01 00:00:00 UTC, including fractions.
    public var secondsSinceReferenceDate: Double

    /// Creates a date from seconds since 2001-01-01 00:00:00 UTC.
    public init(secondsSinceReferenceDate: Double) {
        self.secondsSinceReferenceDate = secondsSinceReferenceDate
    }

    /// Whether the date is in the years 0 to 9999, which every format can represent.
    package var isInCalendar: Bool { CivilTime(self) != nil }

    /// Returns whether two dates are the same instant; a NaN date equals itself.
    public static func == (first: Self, second: Self) -> Bool {
        first.secondsSinceReferenceDate == second.secondsSinceReferenceDate
            || (first.secondsSinceReferenceDate.isNaN && second.secondsSinceReferenceDate.isNaN)
    }

    /// Returns whether the first date is before the second.
    public static func < (first: Self, second: Self) -> Bool {
        first.secondsSinceReferenceDate < second.secondsSinceReferenceDate
    }

    /// Hashes the components that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(secondsSinceReferenceDate.isNaN ? .nan : secondsSinceReferenceDate)
    }
}

extension PropertyListValue {
    /// Whether the value contains a date, at any depth, outside the years 0 to 9999, which text can't represent.
    package var hasDateBeyondCalendar: Bool {
        switch self {
        case .date(let date): !date.isInCalendar
        case .array(let elements): elements.contains(where: \.hasDateBeyondCalendar)
        case .dictionary(let entries): entries.values.contains(where: \.hasDateBeyondCalendar)
        case .string, .integer, .unsigned, .real, .real32, .boolean, .data, .uid: false
        }
    }
}
