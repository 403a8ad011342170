import Foundation
import PropertyList
import Testing

@Suite("Dates")
struct DateTests {
    @Test(
        "A date converts to text and back",
        arguments: [
            (0, "2001-01-01T00:00:00Z"), (-1, "2000-12-31T23:59:59Z"), (0.25, "2001-01-01T00:00:00.25Z"),
            (-0.25, "2000-12-31T23:59:59.75Z"), (700_000_000.1, "2023-03-08T20:26:40.1Z"),
            (-978_307_200, "1970-01-01T00:00:00Z"), (-63_113_904_000, "0001-01-01T00:00:00Z"),
            (-63_145_526_400, "0000-01-01T00:00:00Z"), (252_423_993_599, "9999-12-31T23:59:59Z"),
            (-31_536_000, "2000-01-02T00:00:00Z"), (-26_524_800, "2000-02-29T00:00:00Z"),
            (-63_114_076_800, "0000-12-30T00:00:00Z"),
        ] as [(Double, String)])
    func both(seconds: Double, text: String) {
        let date = PropertyListDate(secondsSinceReferenceDate: seconds)
        #expect(date.description == text)
        #expect(PropertyListDate(text) == date)
    }

    @Test(
        "An old-style date outside the years 0 to 9999 in UTC is refused, because no text could represent it",
        arguments: ["9999-12-31 23:59:59 -2359", "9999-12-31 23:59:59 -0001", "0000-01-01 00:00:00 +0001"])
    func beyondTheCalendar(text: String) throws {
        #expect(errorOfReading(Array("<*D\(text)>".utf8))?.code == .syntax)
        let edge = PropertyListDate("9999-12-31T23:59:59Z").map(PropertyListValue.date)
        #expect(try parse("<*D9999-12-31 22:59:59 -0100>") == edge)
    }

    @Test("Every day of the years 0 to 9999 agrees with a count of days from the first one")
    func everyDay() {
        var seconds = -63_145_526_400.0
        for year in 0...9999 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for (month, days) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
                // The first and the last day of a month; all others are between them.
                for day in [1, days] {
                    let text = String(format: "%04d-%02d-%02dT00:00:00Z", year, month + 1, day)
                    let date = PropertyListDate(secondsSinceReferenceDate: seconds + Double(day - 1) * 86_400)
                    guard PropertyListDate(text) == date, date.description == text else {
                        Issue.record("\(text) is \(date)")
                        return
                    }
                }
                seconds += Double(days) * 86_400
            }
        }
    }

    @Test(
        "Text that names no existing second is refused",
        arguments: [
            "", "Z", "2001-01-01", "2001-01-01T00:00:00", "2001-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
            "2001-13-01T00:00:00Z", "2001-00-01T00:00:00Z", "2001-01-00T00:00:00Z", "2001-01-32T00:00:00Z",
            "2001-01-01T24:00:00Z", "2001-01-01T00:60:00Z", "2001-01-01T00:00:60Z", "2001-01-01T00:00:00.Z",
            "2001-01-01T00:00:00.xZ", "2001-01-01t00:00:00Z", "2001-01-01T00:00:00+00:00", " 2001-01-01T00:00:00Z",
            "2001-01-01T00:00:00Z ", "20010-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "2001-01-01T00:00:0éZ",
        ])
    func refused(text: String) {
        #expect(PropertyListDate(text) == nil)
    }

    @Test(
        "A date with any number of seconds can be described and stored",
        arguments: [
            .nan, -.nan, .infinity, -.infinity, 1e300, -1e300, 252_423_993_600, -63_145_526_401,
            .greatestFiniteMagnitude, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 9.3e18, -9.3e18,
        ] as [Double])
    func odd(seconds: Double) throws {
        let date = PropertyListDate(secondsSinceReferenceDate: seconds)
        #expect(!date.description.isEmpty)
        #expect(date == PropertyListDate(secondsSinceReferenceDate: seconds))
        #expect(try PropertyListValue(parsing: PropertyListValue.date(date).write(as: .binary)) == .date(date))
        let old = try PropertyListValue.date(date).write(as: .oldStyle)
        #expect(try PropertyListValue(parsing: old) == PropertyListValue.date(date).asStored(in: .oldStyle))
    }

    @Test(
        "XML refuses a date in a year that it can't represent, and names the key path",
        arguments: [.nan, .infinity, 252_423_993_600, -1e12])
    func unrepresentable(seconds: Double) {
        let date = PropertyListValue.date(PropertyListDate(secondsSinceReferenceDate: seconds))
        let error = #expect(throws: PropertyListError.self) {
            try (["a": [1, date]] as PropertyListValue).write(as: .xml)
        }
        #expect(error?.code == .unrepresentable)
        #expect(error?.keyPath == "a[1]")
    }
}
