import PropertyList

extension PropertyListValue {
    /// Returns this value from JSON, in which each number that equals the one at the same place of an old value is
    /// that number.
    ///
    /// Many programs hold every number of JSON as a `Double`, so they write 2.0 as 2, and 9007199254740993 as
    /// 9007199254740992. Such a number wasn't meant to be changed.
    func keepingNumbers(of old: PropertyListValue?) -> PropertyListValue {
        switch (self, old) {
        case (.array(let elements), .array(let olds)?):
            .array(elements.enumerated().map { $1.keepingNumbers(of: $0 < olds.count ? olds[$0] : nil) })
        case (.dictionary(let entries), .dictionary(let olds)?): .dictionary(entries.keepingNumbers(of: olds))
        case (let new, let old?): new.double.map { old.isWritten(as: $0) } ?? false ? old : new
        case (let new, nil): new
        }
    }

    /// The number, as far as a `Double` can hold it; `nil` if this is no number.
    private var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }

    /// Returns whether this is a number that programs may write to JSON as another one.
    private func isWritten(as other: Double) -> Bool {
        // The JSON of a 32-bit real has only the digits that such a number needs.
        if case .real32(let number) = self { Float(other) == number } else { double == other }
    }
}

extension [String: PropertyListValue] {
    /// Returns these values from JSON with the numbers of old values, as for a single value.
    func keepingNumbers(of old: [String: PropertyListValue]) -> [String: PropertyListValue] {
        var values = self
        for (key, value) in self { values[key] = value.keepingNumbers(of: old[key]) }
        return values
    }
}
