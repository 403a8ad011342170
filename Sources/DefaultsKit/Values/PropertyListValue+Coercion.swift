package import PropertyList

/// The conversions that the classic accessors, such as `string(forKey:)`, apply to values of other types.
extension PropertyListValue {
    /// A string as it is, a Boolean as "1" or "0", a number as the shortest text that reads back as the same number;
    /// `nil` for anything else.
    ///
    /// A 32-bit real is written in its own precision: "12.34", not "12.34000015258789".
    package var coercedString: String? {
        switch self {
        case .string(let text): return text
        case .integer, .unsigned, .real, .real32, .boolean:
            // The old-style format has only strings, so the text of a number is defined there.
            guard case .string(let text) = asStored(in: .oldStyle) else { return nil }
            return text
        case .date, .data, .array, .dictionary, .uid: return nil
        }
    }

    /// A number truncated toward zero and clamped to `Int` (NaN is 0), the number that a string begins with, or 1 for
    /// true.
    package var coercedInteger: Int {
        switch self {
        case .string(let text): NumberPrefix.integer(text)
        case .integer(let number): Int(clamping: number)
        case .unsigned(let number): Int(clamping: number)
        case .real(let number): Self.clamped(number)
        case .real32(let number): Self.clamped(Double(number))
        case .boolean(let flag): flag ? 1 : 0
        case .date, .data, .array, .dictionary, .uid: 0
        }
    }

    /// The 32-bit real nearest to a number or to the number that a string begins with, or 1 for true.
    package var coercedFloat: Float {
        switch self {
        case .string(let text): NumberPrefix.real(text)
        case .integer(let number): Float(number)
        case .unsigned(let number): Float(number)
        case .real(let number): Float(number)
        case .real32(let number): number
        case .boolean(let flag): flag ? 1 : 0
        case .date, .data, .array, .dictionary, .uid: 0
        }
    }

    /// The 64-bit real nearest to a number or to the number that a string begins with, or 1 for true.
    ///
    /// A 32-bit real is widened exactly: 12.34 becomes 12.34000015258789.
    package var coercedDouble: Double {
        switch self {
        case .string(let text): NumberPrefix.real(text)
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .real(let number): number
        case .real32(let number): Double(number)
        case .boolean(let flag): flag ? 1 : 0
        case .date, .data, .array, .dictionary, .uid: 0
        }
    }

    /// A Boolean as it is; true for a number other than zero, and for a string that begins with one of `tTyY` or with
    /// such a whole number.
    package var coercedBool: Bool {
        switch self {
        case .string(let text): NumberPrefix.isTrue(text)
        case .integer(let number): number != 0
        case .unsigned(let number): number != 0
        case .real(let number): number != 0
        case .real32(let number): number != 0
        case .boolean(let flag): flag
        case .date, .data, .array, .dictionary, .uid: false
        }
    }

    /// An array of strings; `nil` if any element is something else, since numbers aren't converted.
    package var coercedStringArray: [String]? {
        guard case .array(let values) = self else { return nil }
        var strings: [String] = []
        strings.reserveCapacity(values.count)
        for value in values {
            guard case .string(let text) = value else { return nil }
            strings.append(text)
        }
        return strings
    }

    private static func clamped(_ number: Double) -> Int {
        if number.isNaN { return 0 }
        return Int(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
    }
}
