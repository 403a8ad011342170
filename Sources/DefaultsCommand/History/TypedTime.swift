import DefaultsCore
import Glibc
import PropertyList

/// A parser for moments in the past as people type them.
///
/// It reads the time that has passed (`90s`, `10m`, `2h`, `3d`, `1w`), `today` and `yesterday` (when the day began), a
/// time of day (`10:15`, the last time it was that time), and dates as in `TypedDate`. Local time, unless the text has
/// a time zone.
enum TypedTime {
    /// Reads a time; returns `nil` for other text.
    static func read(_ text: String, now: Timestamp = .now()) -> Timestamp? {
        let text = text.hasSuffix(" ago") ? String(text.dropLast(4)) : text
        let days: [String: Int32] = ["today": 0, "yesterday": 1]
        if let day = days[text] { return time(onDay: day, now) }
        if let passed = passed(text) {
            let (result, overflow) = now.nanoseconds.subtractingReportingOverflow(passed)
            return overflow ? nil : Timestamp(nanoseconds: result)
        }
        if let (hour, minute, second) = timeOfDay(text) {
            guard let today = time(onDay: 0, now, hour, minute, second) else { return nil }
            return today <= now ? today : time(onDay: 1, now, hour, minute, second)
        }
        guard let date = TypedDate.read(text) else { return nil }
        let seconds = date.secondsSinceReferenceDate + 978_307_200
        guard abs(seconds) < 9e9 else { return nil }
        return Timestamp(nanoseconds: Int64(seconds * 1_000) * 1_000_000)
    }

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]

    /// Reads a time that has passed, in nanoseconds.
    private static func passed(_ text: String) -> Int64? {
        guard let unit = text.last.flatMap({ units[$0] }), text.dropLast().allSatisfy({ ("0"..."9").contains($0) }),
            let number = Int64(text.dropLast())
        else { return nil }
        let (seconds, overflow) = number.multipliedReportingOverflow(by: unit)
        return overflow || seconds > 9_000_000_000 ? nil : seconds * 1_000_000_000
    }

    private static func timeOfDay(_ text: String) -> (Int32, Int32, Int32)? {
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

    private static func time(
        onDay back: Int32, _ now: Timestamp, _ hour: Int32 = 0, _ minute: Int32 = 0, _ second: Int32 = 0
    ) -> Timestamp? {
        var seconds = time_t(now.nanoseconds / 1_000_000_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        (parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec) = (parts.tm_mday - back, hour, minute, second)
        parts.tm_isdst = -1
        return Timestamp(nanoseconds: Int64(mktime(&parts)) * 1_000_000_000)
    }
}
