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
            ("1w", "2026-11-17 10:15"), ("now", "2026-11-24 10:15"), ("1 hour ago", "2026-11-24 09:15"),
            ("-1h", "2026-11-24 09:15"), ("2 days ago", "2026-11-22 10:15"), ("1h 30min", "2026-11-24 08:45"),
            ("1h30m ago", "2026-11-24 08:45"), ("90 seconds ago", "2026-11-24 10:14"), ("-5 min", "2026-11-24 10:10"),
            ("2 weeks ago", "2026-11-10 10:15"), ("today", "2026-11-24 00:00"), ("yesterday", "2026-11-23 00:00"),
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

    @Test("A time of day is the last moment at which the clock showed it, also around changes of summer time")
    func summerTime() async {
        await #expect(processExitsWith: .success) {
            let zones: [(zone: String, cases: [(now: String, text: String, expected: String)])] = [
                (
                    "CET-1CEST,M3.5.0,M10.5.0/3",
                    [
                        ("2026-10-25T00:15:00Z", "02:30", "2026-10-24T00:30:00Z"),
                        ("2026-10-25T00:45:00Z", "02:30", "2026-10-25T00:30:00Z"),
                        ("2026-10-25T01:10:00Z", "02:30", "2026-10-25T00:30:00Z"),
                        ("2026-10-25T01:45:00Z", "02:30", "2026-10-25T01:30:00Z"),
                        ("2026-10-26T01:00:00Z", "02:30", "2026-10-25T01:30:00Z"),
                        ("2026-10-25T01:10:00Z", "today", "2026-10-24T22:00:00Z"),
                        ("2026-10-26T01:10:00Z", "yesterday", "2026-10-24T22:00:00Z"),
                        ("2026-03-29T08:00:00Z", "02:30", "2026-03-28T01:30:00Z"),
                        ("2026-03-29T08:00:00Z", "03:30", "2026-03-29T01:30:00Z"),
                        ("2026-03-30T00:15:00Z", "02:30", "2026-03-28T01:30:00Z"),
                        ("2026-03-29T08:00:00Z", "today", "2026-03-28T23:00:00Z"),
                    ]
                ),
                // Lord Howe Island, where the clock changes by half an hour.
                (
                    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
                    [
                        ("2026-04-04T15:05:00Z", "01:45", "2026-04-04T14:45:00Z"),
                        ("2026-04-04T15:20:00Z", "01:45", "2026-04-04T15:15:00Z"),
                        ("2026-10-03T20:00:00Z", "02:15", "2026-10-02T15:45:00Z"),
                        ("2026-10-03T20:00:00Z", "02:30", "2026-10-03T15:30:00Z"),
                    ]
                ),
                // Cuba, where the clock changes at midnight.
                (
                    "CST5CDT,M3.2.0/0,M11.1.0/1",
                    [
                        ("2026-03-08T12:00:00Z", "today", "2026-03-08T05:00:00Z"),
                        ("2026-11-01T12:00:00Z", "today", "2026-11-01T04:00:00Z"),
                        ("2026-11-01T05:10:00Z", "00:30", "2026-11-01T04:30:00Z"),
                    ]
                ),
            ]
            for (zone, cases) in zones {
                setenv("TZ", zone, 1)
                tzset()
                for (now, text, expected) in cases {
                    let now = try #require(TypedTime.read(now))
                    #expect(TypedTime.read(text, now: now) == TypedTime.read(expected), "\(text) at \(now), \(zone)")
                }
            }
        }
    }

    @Test(
        "Anything else isn't a time",
        arguments: [
            "", "m", "-", " ago", "ago", "-1h ago", "--1h", "1.5h", "+1h", "1x", "1h 30", "1h ago 5m", "noon",
            "10:15 ago", "-10:15", "9000000000y", "292y", "24:00", "10:60", "1:2:3:4", ":", "10:", "2026-13-01",
            "2026-02-30", "99999999999999999999h", "9999999999w", "tomorrow", " 1h",
        ])
    func refused(text: String) {
        #expect(TypedTime.read(text, now: Self.now) == nil)
    }
}
