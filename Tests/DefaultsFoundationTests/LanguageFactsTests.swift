import Foundation
import PropertyList
import TestSupport
import Testing

@testable import DefaultsFoundation

/// Each test runs in a child process, since unexpected input can crash ICU or corrupt Foundation's formats for the
/// process.
@Suite("ICU's language data", .timeLimit(.minutes(2)))
struct LanguageFactsTests {
    @Test("A language without a country has no currency")
    func withoutCurrency() async {
        await #expect(processExitsWith: .success) {
            for entry in ["eo", "es-419", "en-001", "ar-001", "vo", "en-AQ"] {
                let values = try #require(LanguageFacts(entry)?.values, "\(entry)")
                #expect(values["NSCurrencySymbol"] == nil, "\(entry)")
                #expect(values["NSInternationalCurrencyString"] == nil, "\(entry)")
                #expect(values["NSDecimalSeparator"] != nil, "\(entry)")
                #expect(values["NSMonthNameArray"] != nil, "\(entry)")
            }
        }
    }

    @Test("A language's data matches Foundation's formatters and leaves them unaffected")
    func formatters() async {
        await #expect(processExitsWith: .success) {
            let entries = [
                ("nb", "januar"), ("no-NO", "januar"), ("no_NO", "januar"), ("zh-HK", "1月"), ("de", "Januar"),
            ]
            let facts = entries.map { LanguageFacts($0.0)?.values }
            for ((entry, january), values) in zip(entries, facts) {
                let formatter = DateFormatter()
                formatter.locale = Locale(identifier: entry)
                let months: [String] = formatter.monthSymbols
                #expect(months.first == january, "\(entry)")
                #expect(values?["NSMonthNameArray"] == .array(months.map(PropertyListValue.string)), "\(entry)")
            }
        }
    }

    @Test("A language's data names the language and its parent")
    func names() async {
        await #expect(processExitsWith: .success) {
            for (entry, code, formalName, parent) in [
                ("zh-Hant-TW", "zh", "繁體中文（台灣）", "zh-Hant"), ("zh-Hant", "zh", "繁體中文", "zh"),
                ("zh", "zh", "中文", ""), ("de_AT", "de", "Deutsch (Österreich)", "de"),
                ("no-NO", "no", "norsk (Norge)", "no"), ("en", "en", "English", ""),
            ] {
                let values = try #require(LanguageFacts(entry)?.values, "\(entry)")
                #expect(values["NSLanguageCode"] == .string(code), "\(entry)")
                #expect(values["NSFormalName"] == .string(formalName), "\(entry)")
                #expect(values["NSParentContext"] == .string(parent), "\(entry)")
            }
        }
    }

    @Test("An entry that isn't made of subtags has no data; only language, script and region count")
    func subtags() async {
        await #expect(processExitsWith: .success) {
            for entry in [
                "de@euro", "en@x", "de.UTF-8", "", "-", "de-", "-de", "de--AT", "de-abcdefghi", "dé", "de-A\0", "xx",
                "de" + String(repeating: "-abcdefg", count: 8),
            ] {
                #expect(LanguageFacts(entry) == nil, "\(entry.debugDescription)")
            }
            for (entry, same) in [
                ("fa-ca-u-nu-hans-eur", "fa-CA"), ("ca-valencia", "ca"), ("de-AT-u-ca-buddhist", "de-AT"),
                ("en-US-x-private", "en-US"), ("DE", "de"), ("th-TH-u-nu-thai", "th_TH"),
            ] {
                let values = try #require(LanguageFacts(entry)?.values, "\(entry)")
                #expect(values == LanguageFacts(same)?.values, "\(entry)")
            }
        }
    }

    /// All locales take too long for every run; `DEFAULTSD_ALL_LOCALES` makes the test try them all.
    @Test("Every locale of Foundation's has data")
    func availableLocales() async {
        await #expect(processExitsWith: .success) {
            let all = Locale.availableIdentifiers.sorted()
            let step = ProcessInfo.processInfo.environment["DEFAULTSD_ALL_LOCALES"] == nil ? 4 : 1
            for index in stride(from: 0, to: all.count, by: step) {
                let values = try #require(LanguageFacts(all[index])?.values, "\(all[index])")
                #expect(values.count >= 20, "\(all[index])")
            }
        }
    }

    @Test("No entry whatsoever crashes the process")
    func hostile() async {
        await #expect(processExitsWith: .success) {
            var random = PseudoRandom(seed: 20_261_121)
            let languages = ["de", "en", "ar", "fa", "zh", "th", "ne", "my", "no", "nb", "sr", "eo", "root", "und"]
            let subtags = [
                "Hant", "US", "AT", "NO", "XXX", "001", "calendar", "numbers", "currency", "u", "nu", "ca", "islamic",
                "arab", "hans", "x", "t", "POSIX", "va", "posix", "hc", "collation", "buddhist", "rg", "uszzzz", "cu",
                "eur", "@", "=", ";", "\0", " ", "", "%", "zxx", "qaa", "i-klingon", "roman", "algo", "valencia",
            ]
            for number in 0..<300 {
                var entry = random.pick(languages)
                for _ in 0..<random.below(6) { entry += random.pick(["-", "-", "-", "_", "@"]) + random.pick(subtags) }
                if random.oneIn(3) {
                    let bytes = entry.utf8.map { random.oneIn(20) ? UInt8(random.below(128)) : $0 }
                    entry = String(decoding: bytes, as: UTF8.self)
                }
                // If the next line crashes the child, its output shows which entry did.
                print(number, entry.debugDescription)
                let values = LanguageFacts(entry)?.values
                #expect(values == nil || values?["NSMonthNameArray"] != nil, "\(entry.debugDescription)")
            }
        }
    }
}
