import DefaultsCore
import Glibc
import PropertyList

/// A parser for moments in the past as people type them.
///
/// It reads the time that has passed (`10m`, `-10m`, `1 hour ago`, `1h 30min`), `now`, `today` and `yesterday` (when
/// the day began), a time of day (`10:15`, the last time it was that time), and dates as in `TypedDate`. Local time,
/// unless the text has a time zone. The words and units follow `journalctl`.
enum TypedTime {
    /// Reads a time; returns `nil` for other text.
    static func read(_ text: String, now: Timestamp = .now()) -> Timestamp? {
        if text == "now" { return now }
        let days: [String: Int32] = ["today": 0, "yesterday": 1]
        // Where summer time changes at midnight, a day may have two midnights, and begins with the first, or none.
        if let day = days[text] { return moments(daysAgo: day, now, (0, 0, 0)).map(\.time).min() }
        if let passed = passed(text.hasPrefix("-") ? text.dropFirst() : text.dropLast(text.hasSuffix(" ago") ? 4 : 0)) {
            let (result, overflow) = now.nanoseconds.subtractingReportingOverflow(passed)
            return overflow ? nil : Timestamp(nanoseconds: result)
        }
        if let clock = timeOfDay(text) {
            // Yesterday may lack the time, too.
            let times = (0...2).lazy.map { day in
                moments(daysAgo: day, now, clock).filter { $0.isExact && $0.time <= now }.map(\.time).max()
            }
            return times.compactMap(\.self).first
        }
        guard let date = TypedDate.read(text) else { return nil }
        let seconds = date.secondsSinceReferenceDate + 978_307_200
        guard abs(seconds) < 9e9 else { return nil }
        return Timestamp(nanoseconds: Int64(seconds * 1_000) * 1_000_000)
    }

    /// The units of time, in seconds; months and years have their average length.
    private static let units: [(names: [String], seconds: Int64)] = [
        (["s", "sec", "second", "seconds"], 1), (["m", "min", "minute", "minutes"], 60),
        (["h", "hr", "hour", "hours"], 3_600), (["d", "day", "days"], 86_400), (["w", "week", "weeks"], 604_800),
        (["M", "month", "months"], 2_629_800), (["y", "year", "years"], 31_557_600),
    ]

    /// Reads a time that has passed, numbers with units, in nanoseconds.
    private static func passed(_ text: Substring) -> Int64? {
        var rest = text
        var seconds: Int64 = 0
        repeat {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            rest = rest[digits.endIndex...].drop { $0 == " " }
            let name = rest.prefix { $0.isLetter }
            rest = rest[name.endIndex...].drop { $0 == " " }
            guard let unit = units.first(where: { $0.names.contains(String(name)) }), let number = Int64(digits),
                number <= 9_000_000_000
            else { return nil }
            seconds += number * unit.seconds
            guard seconds <= 9_000_000_000 else { return nil }
        } while !rest.isEmpty
        return seconds * 1_000_000_000
    }

    private static func timeOfDay(_ text: String) -> (hour: Int32, minute: Int32, second: Int32)? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count),
            parts.allSatisfy({ (1...2).contains($0.count) && $0.allSatisfy { ("0"..."9").contains($0) } })
        else { return nil }
        let numbers = parts.compactMap { Int32($0) }
        guard numbers.count == parts.count, numbers[0] < 24, numbers.dropFirst().allSatisfy({ $0 < 60 }) else {
            return nil
        }
        return (numbers[0], numbers[1], numbers.count > 2 ? numbers[2] : 0)
    }

    /// Returns the moments of a day at which the clock shows a time, in any order.
    ///
    /// When summer time ends, there may be two. When it begins, there may be none; the moments at which the clock would
    /// show the time if it hadn't been changed are then not exact.
    private static func moments(
        daysAgo back: Int32, _ now: Timestamp, _ clock: (hour: Int32, minute: Int32, second: Int32)
    ) -> [(time: Timestamp, isExact: Bool)] {
        var seconds = time_t(now.nanoseconds / 1_000_000_000)
        var noon = tm()
        localtime_r(&seconds, &noon)
        (noon.tm_mday, noon.tm_hour, noon.tm_isdst) = (noon.tm_mday - back, 12, -1)
        guard mktime(&noon) != -1 else { return [] }
        return [Int32(-1), 0, 1].compactMap { isSummerTime in
            var shown = noon
            (shown.tm_hour, shown.tm_min, shown.tm_sec) = clock
            shown.tm_isdst = isSummerTime
            let seconds = mktime(&shown)
            guard seconds != -1, shown.tm_mday == noon.tm_mday else { return nil }
            return (
                Timestamp(nanoseconds: Int64(seconds) * 1_000_000_000),
                (shown.tm_hour, shown.tm_min, shown.tm_sec) == clock
            )
        }
    }
}
