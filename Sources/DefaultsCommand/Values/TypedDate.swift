import Glibc
import PropertyList

/// A parser for dates as people and scripts type them: a day with an optional time of day and time zone.
///
/// Examples: `2019-02-19`, `2019-02-19 10:10:10`, `2019-02-19T10:10:10.5Z`, `2019-02-19 10:10:10 +0100`. Without a time
/// zone, the date is in local time, according to `TZ`.
enum TypedDate {
    /// Reads a date; returns `nil` for other text, and for a day or time of day that doesn't exist.
    static func read(_ text: String) -> PropertyListDate? {
        if let date = PropertyListDate(text) { return date }
        var rest = Array(text.utf8)[...]
        guard let year = number(of: 4, &rest), consume("-", &rest), let month = number(of: 2, &rest),
            consume("-", &rest),
            let day = number(of: 2, &rest)
        else { return nil }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (year - 1900, month - 1, day)
        var fraction = 0.0
        var offset: Int?
        if !rest.isEmpty {
            guard consume("T", &rest) || consume(" ", &rest), let hour = number(of: 2, &rest), consume(":", &rest),
                let minute = number(of: 2, &rest)
            else { return nil }
            (time.tm_hour, time.tm_min) = (hour, minute)
            if consume(":", &rest) {
                guard let second = number(of: 2, &rest), let part = parseFraction(&rest) else { return nil }
                time.tm_sec = second
                fraction = part
            }
            guard parseZone(&rest, &offset) else { return nil }
        }
        guard rest.isEmpty, exists(time) else { return nil }
        time.tm_isdst = -1
        let seconds = offset.map { timegm(&time) - $0 } ?? mktime(&time)
        let date = PropertyListDate(secondsSinceReferenceDate: Double(seconds - referenceDate) + fraction)
        // The time zone may move the date outside the range of years that the formats can hold.
        return PropertyListDate(date.description) == nil ? nil : date
    }

    /// 2001-01-01T00:00:00Z, in seconds since 1970.
    private static let referenceDate = 978_307_200

    /// Returns whether a day and time of day exist in the calendar.
    private static func exists(_ time: tm) -> Bool {
        var copy = time
        _ = timegm(&copy)
        return (copy.tm_mon, copy.tm_mday, copy.tm_hour, copy.tm_min, copy.tm_sec)
            == (time.tm_mon, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec)
    }

    private static func consume(_ character: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Consumes a number with a fixed number of digits.
    private static func number(of count: Int, _ rest: inout ArraySlice<UInt8>) -> Int32? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest.removeFirst(count)
        return digits.reduce(0) { $0 * 10 + Int32($1 - 0x30) }
    }

    /// Consumes the fraction of a second, if there is one; returns `nil` for a point without digits.
    private static func parseFraction(_ rest: inout ArraySlice<UInt8>) -> Double? {
        guard consume(".", &rest) else { return 0 }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest.removeFirst(digits.count)
        return digits.isEmpty ? nil : Double("0.\(String(decoding: digits, as: UTF8.self))")
    }

    /// Consumes a time zone, if there is one, and sets the offset in seconds east of Greenwich.
    ///
    /// - Returns: False for text that isn't a time zone.
    private static func parseZone(_ rest: inout ArraySlice<UInt8>, _ offset: inout Int?) -> Bool {
        if rest.isEmpty { return true }
        _ = consume(" ", &rest)
        if consume("Z", &rest) {
            offset = 0
            return true
        }
        let sign = consume("-", &rest) ? -1 : consume("+", &rest) ? 1 : 0
        guard sign != 0, let hours = number(of: 2, &rest) else { return false }
        _ = consume(":", &rest)
        guard let minutes = number(of: 2, &rest), hours < 24, minutes < 60 else { return false }
        offset = sign * Int(hours * 3600 + minutes * 60)
        return true
    }
}
