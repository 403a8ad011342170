extension PropertyListDate: CustomStringConvertible, LosslessStringConvertible {
    /// The date as RFC 3339 text in UTC, such as `2001-01-01T00:00:00Z` or `2001-01-01T00:00:00.25Z`.
    ///
    /// It has as many fractional digits as needed to distinguish the date from its neighbors. Dates outside the years 0
    /// to 9999 have no such text and are given in seconds: `2001-01-01T00:00:00Z + 1e+300 s`.
    public var description: String {
        guard let time = CivilTime(self) else {
            return "2001-01-01T00:00:00Z + \(secondsSinceReferenceDate) s"
        }
        return time.text(separator: "T", fraction: fractionText, zone: "Z")
    }

    /// Parses RFC 3339 text in UTC, such as `2001-01-01T00:00:00Z`, with or without a fraction of a second.
    ///
    /// - Parameter text: The text; its year must be 0 to 9999, its day must exist, and its zone must be `Z`.
    public init?(_ text: String) {
        var copy = text
        guard let date = copy.withUTF8({ PropertyListDate(utf8: $0, fraction: true) }) else { return nil }
        self = date
    }

    /// Parses `2001-01-01T00:00:00Z` as in XML; a component that is out of range, such as day 32, rolls over.
    init?(xml text: UnsafeBufferPointer<UInt8>) {
        self.init(utf8: text, fraction: false, rollsOver: true)
    }

    /// Parses `2001-01-01T00:00:00Z`, and `2001-01-01T00:00:00.25Z` if fractions are allowed.
    private init?(utf8 text: UnsafeBufferPointer<UInt8>, fraction allowsFraction: Bool, rollsOver: Bool = false) {
        guard text.count >= 20, text[10] == UInt8(ascii: "T"), text[text.count - 1] == UInt8(ascii: "Z"),
            let time = CivilTime(utf8: text, rollsOver: rollsOver)
        else { return nil }
        let digits = text[19..<(text.count - 1)]
        self.init(secondsSinceReferenceDate: Double(time.secondsSinceReferenceDate))
        guard !digits.isEmpty else { return }
        guard allowsFraction, digits.first == UInt8(ascii: "."), (2...18).contains(digits.count),
            digits.dropFirst().allSatisfy(\.isDecimalDigit)
        else { return nil }
        var numerator = 0.0
        var denominator = 1.0
        for digit in digits.dropFirst() {
            numerator = numerator * 10 + Double(digit - UInt8(ascii: "0"))
            denominator *= 10
        }
        secondsSinceReferenceDate += numerator / denominator
    }

    /// Parses `2001-01-01 00:00:00 +0000`, the form of old-style property lists, in any time zone.
    ///
    /// Fails outside the years 0 to 9999 in UTC, because such a date couldn't be written as text.
    init?(oldStyle text: UnsafeBufferPointer<UInt8>) {
        guard text.count == 25, text[10] == UInt8(ascii: " "), text[19] == UInt8(ascii: " "),
            let time = CivilTime(utf8: text), text[21...].allSatisfy(\.isDecimalDigit)
        else { return nil }
        let zone = text[21...].map { Int($0 - UInt8(ascii: "0")) }
        guard zone[2] < 6 else { return nil }
        let seconds = (zone[0] * 10 + zone[1]) * 3600 + (zone[2] * 10 + zone[3]) * 60
        switch text[20] {
        case UInt8(ascii: "+"):
            self.init(secondsSinceReferenceDate: Double(time.secondsSinceReferenceDate - seconds))
        case UInt8(ascii: "-"):
            self.init(secondsSinceReferenceDate: Double(time.secondsSinceReferenceDate + seconds))
        default: return nil
        }
        guard isInCalendar else { return nil }
    }

    /// The date without its fraction of a second, as XML stores it.
    var wholeSeconds: PropertyListDate {
        PropertyListDate(secondsSinceReferenceDate: secondsSinceReferenceDate.rounded(.down))
    }

    /// The fraction, such as `.25`; empty for a whole second.
    ///
    /// It has the fewest digits that read back as the same date, 17 at most.
    private var fractionText: String {
        let whole = secondsSinceReferenceDate.rounded(.down)
        let fraction = secondsSinceReferenceDate - whole
        guard fraction > 0 else { return "" }
        var denominator = 1.0
        for count in 1...17 {
            denominator *= 10
            let numerator = (fraction * denominator).rounded()
            guard numerator < denominator else { continue }
            if whole + numerator / denominator == secondsSinceReferenceDate || count == 17 {
                let digits = String(UInt64(numerator))
                return "." + String(repeating: "0", count: count - digits.utf8.count) + digits
            }
        }
        return ""
    }
}
