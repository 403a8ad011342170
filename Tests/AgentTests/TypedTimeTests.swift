import DefaultsCore
import Glibc
import Testing

@testable import DefaultsCommand

@Suite("Times as people type them")
struct TypedTimeTests {
    /// Returns the local time as text, in minutes.
    private static func local(_ time: Timestamp?) -> String? {
        guard let time else { return nil }
        var seconds = time_t(time.nanoseconds / 1_000_000_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        let numbers = [parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min].map {
            $0 < 10 ? "0\($0)" : "\($0)"
        }
        return "\(parts.tm_year + 1900)-\(numbers[0])-\(numbers[1]) \(numbers[2]):\(numbers[3])"
    }

    /// 2026-11-24 10:15:30 local time.
    private static let now: Timestamp = {
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (126, 10, 24)
        (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (10, 15, 30, -1)
        return Timestamp(nanoseconds: Int64(mktime(&parts)) * 1_000_000_000)
    }()

    @Test(
        "A time that has passed, a time of day, a day or a date is understood",
        arguments: [
            ("0s", "2026-11-24 10:15"), ("90s", "2026-11-24 10:14"), ("10m", "2026-11-24 10:05"),
            ("2h", "2026-11-24 08:15"), ("3h ago", "2026-11-24 07:15"), ("3d", "2026-11-21 10:15"),
            ("1w", "2026-11-17 10:15"), ("today", "2026-11-24 00:00"), ("yesterday", "2026-11-23 00:00"),
            ("10:15", "2026-11-24 10:15"), ("9:05:10", "2026-11-24 09:05"), ("10:16", "2026-11-23 10:16"),
            ("23:59", "2026-11-23 23:59"), ("2026-11-01", "2026-11-01 00:00"),
            ("2026-11-01 12:30", "2026-11-01 12:30"), ("2026-11-01T12:30:59", "2026-11-01 12:30"),
        ])
    func times(text: String, expected: String) {
        #expect(Self.local(TypedTime.read(text, now: Self.now)) == expected)
    }

    @Test("A date with a time zone is the same moment everywhere")
    func zone() {
        #expect(TypedTime.read("2026-11-24T00:00:00Z", now: Self.now)?.nanoseconds == 1_795_478_400_000_000_000)
    }

    @Test(
        "Anything else isn't a time",
        arguments: [
            "", "m", "-1h", "1.5h", "+1h", "1y", "noon", "24:00", "10:60", "1:2:3:4", ":", "10:", "2026-13-01",
            "2026-02-30", "99999999999999999999h", "9999999999w", "tomorrow", " 1h",
        ])
    func refused(text: String) {
        #expect(TypedTime.read(text, now: Self.now) == nil)
    }
}
