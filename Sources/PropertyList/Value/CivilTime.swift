/// A second of the proleptic Gregorian calendar in UTC.
///
/// Its year is 0 to 9999, unless it was parsed from text that rolls over.
struct CivilTime {
    private(set) var year = 2001
    private(set) var month = 1
    private(set) var day = 1
    private(set) var hour = 0
    private(set) var minute = 0
    private(set) var second = 0

    /// Finds the second that contains a date; fails outside the years 0 to 9999.
    init?(_ date: PropertyListDate) {
        let seconds = date.secondsSinceReferenceDate.rounded(.down)
        // The range of the years 0 to 9999; the condition is false for NaN.
        guard seconds >= -63_145_526_400, seconds < 252_423_993_600 else { return nil }
        let whole = Int(seconds)
        let days = Int((seconds / 86_400).rounded(.down))
        let rest = whole - days * 86_400
        (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)

        // Count days from 0000-03-01, so that a leap day is the last day of a year; 400 years have 146,097 days.
        let shifted = days + Self.daysToReferenceDate + 146_097
        let era = shifted / 146_097 - 1
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Parses `2001-01-01?00:00:00` from the first 19 bytes, with any byte in the middle.
    ///
    /// - Parameters:
    ///   - text: The text in UTF-8; bytes after the first 19 are ignored.
    ///   - rollsOver: Whether 1 February may be written as 32 January and midnight as 24:00, as in Foundation; month 0
    ///     is then January. If false, a time that doesn't exist is refused.
    init?(utf8 text: UnsafeBufferPointer<UInt8>, rollsOver: Bool = false) {
        guard text.count >= 19, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":")
        else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            var value = 0
            for byte in text[range] {
                guard byte.isDecimalDigit else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return value
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
        else { return nil }
        if rollsOver {
            // The conversion to seconds adds up any number of days, hours, minutes and seconds, but needs a month from
            // 1 to 12.
            let months = max(month, 1) - 1
            (self.year, self.month, self.day) = (year + months / 12, months % 12 + 1, day)
        } else {
            guard (1...12).contains(month), day >= 1, day <= Self.days(inMonth: month, year: year),
                hour < 24, minute < 60, second < 60
            else { return nil }
            (self.year, self.month, self.day) = (year, month, day)
        }
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// Seconds since 2001-01-01 00:00:00 UTC.
    var secondsSinceReferenceDate: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear + 400) / 400 - 1
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - Self.daysToReferenceDate
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Returns the time as text, such as `2001-01-01T00:00:00Z`.
    func text(separator: Unicode.Scalar, fraction: String, zone: String) -> String {
        var output = MoveStack<UInt8>(minimumCapacity: 32)
        append(to: &output, separator: separator)
        return String(decoding: output.elements, as: UTF8.self) + fraction + zone
    }

    /// Appends the time as text, such as `2001-01-01T00:00:00`.
    func append(to output: inout MoveStack<UInt8>, separator: Unicode.Scalar) {
        Self.append(year / 100, to: &output)
        Self.append(year % 100, to: &output)
        output.append(UInt8(ascii: "-"))
        Self.append(month, to: &output)
        output.append(UInt8(ascii: "-"))
        Self.append(day, to: &output)
        output.append(UInt8(ascii: separator))
        Self.append(hour, to: &output)
        output.append(UInt8(ascii: ":"))
        Self.append(minute, to: &output)
        output.append(UInt8(ascii: ":"))
        Self.append(second, to: &output)
    }

    /// Appends two digits.
    private static func append(_ number: Int, to output: inout MoveStack<UInt8>) {
        output.append(UInt8(ascii: "0") + UInt8(number / 10))
        output.append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    /// The number of days from 0000-03-01 to 2001-01-01.
    private static let daysToReferenceDate = 730_791

    private static func days(inMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
