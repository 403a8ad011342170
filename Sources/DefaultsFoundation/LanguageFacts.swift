import Foundation
import PropertyList

/// ICU's data about a language, under OpenStep's keys for a languages domain.
///
/// Formats are patterns for `DateFormatter.dateFormat` and `NumberFormatter.positiveFormat`.
struct LanguageFacts {
    private let locale: Locale
    /// The locale, with the region where most speakers live if it doesn't name a region; used for numbers and currency.
    private let regional: Locale
    /// The parts of the language tag: the code, and the script and region if present.
    private let subtags: [String]
    private let code: String

    /// Looks up a language by its code, script and region only.
    ///
    /// - Parameter entry: An entry as in `AppleLanguages`: "de", "de-AT", "zh-Hant", or "de_AT".
    init?(_ entry: String) {
        guard Self.isWellFormed(entry) else { return nil }
        let components = Locale.Language.Components(identifier: entry.replacing("_", with: "-"))
        // Extensions and keywords can crash the process: Foundation requests any named calendar, currency or numbering
        // system from ICU, and force-unwraps the result.
        let locale = Locale(
            languageCode: components.languageCode, script: components.script, languageRegion: components.region)
        guard let code = components.languageCode, code.isISOLanguage else { return nil }
        self.locale = locale
        self.code = code.identifier
        subtags = [code.identifier, components.script?.identifier, components.region?.identifier].compactMap(\.self)
        regional = locale.region == nil ? Locale(identifier: locale.language.maximalIdentifier) : locale
    }

    /// Returns whether an entry consists of subtags and isn't too long; other entries must not reach ICU's parsers.
    private static func isWellFormed(_ entry: String) -> Bool {
        guard entry.utf8.count <= 64 else { return false }
        return entry.split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }.allSatisfy { subtag in
            (1...8).contains(subtag.utf8.count) && subtag.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }
    }

    /// The values of the languages domain.
    var values: [String: PropertyListValue] {
        var values = names
        values.merge(numbers) { $1 }
        values.merge(dates) { $1 }
        values.merge(designations) { $1 }
        return values
    }

    private var names: [String: PropertyListValue] {
        [
            "NSLanguageCode": .string(code),
            "NSLanguageName": .string(locale.localizedString(forLanguageCode: code) ?? code),
            "NSFormalName": .string(locale.localizedString(forIdentifier: locale.identifier) ?? code),
            // Don't use `Locale.Language.parent`: for "no-NO" it never returns, and after a call for "nb", ICU uses the
            // root locale's formats for that language throughout the process.
            "NSParentContext": .string(subtags.dropLast().joined(separator: "-")),
        ]
    }

    private var numbers: [String: PropertyListValue] {
        let formatter = NumberFormatter()
        formatter.locale = regional
        formatter.numberStyle = .decimal
        let digits = (0...9).map { formatter.string(from: NSNumber(value: $0)) ?? String($0) }
        var values: [String: PropertyListValue?] = [
            "NSDecimalDigits": .array(digits.map(PropertyListValue.string)),
            "NSDecimalSeparator": Self.value(formatter.decimalSeparator),
            "NSThousandsSeparator": Self.value(formatter.groupingSeparator),
        ]
        formatter.numberStyle = .currency
        let positive = formatter.positiveFormat ?? ""
        let negative = formatter.negativeFormat ?? ""
        values["NSPositiveCurrencyFormatString"] = .string(positive)
        // ICU omits the sign if it is the only difference between the two patterns.
        values["NSNegativeCurrencyFormatString"] = .string(negative == positive ? "-" + positive : negative)
        // There is no currency for a language that isn't tied to a country, such as Esperanto, or for a region of many
        // countries, as in "es-419". The symbol would be "¤", combined with another language's code.
        if let code = formatter.currencyCode as String? {
            values["NSInternationalCurrencyString"] = .string(code)
            values["NSCurrencySymbol"] = Self.value(formatter.currencySymbol)
        }
        return values.compactMapValues(\.self)
    }

    private var dates: [String: PropertyListValue] {
        let formatter = dateFormatter
        func format(date: DateFormatter.Style, time: DateFormatter.Style) -> String {
            formatter.dateStyle = date
            formatter.timeStyle = time
            return formatter.dateFormat ?? ""
        }
        let short = format(date: .short, time: .none)
        let values: [String: PropertyListValue?] = [
            "NSWeekDayNameArray": Self.value(formatter.weekdaySymbols),
            "NSShortWeekDayNameArray": Self.value(formatter.shortWeekdaySymbols),
            "NSMonthNameArray": Self.value(formatter.monthSymbols),
            "NSShortMonthNameArray": Self.value(formatter.shortMonthSymbols),
            "NSAMPMDesignation": Self.value([formatter.amSymbol, formatter.pmSymbol].compactMap(\.self)),
            "NSDateFormatString": .string(format(date: .full, time: .none)),
            "NSShortDateFormatString": .string(short),
            "NSTimeFormatString": .string(format(date: .none, time: .medium)),
            "NSTimeDateFormatString": .string(format(date: .full, time: .long)),
            "NSShortTimeDateFormatString": .string(format(date: .short, time: .short)),
            "NSDateTimeOrdering": .string(Self.ordering(of: short)),
        ]
        return values.compactMapValues(\.self)
    }

    /// Returns a formatter's text as a value; Foundation declares some properties as non-optional although their text
    /// may be missing.
    private static func value(_ text: String?) -> PropertyListValue? { text.map(PropertyListValue.string) }

    private static func value(_ texts: [String]?) -> PropertyListValue? {
        texts.map { .array($0.map(PropertyListValue.string)) }
    }

    /// Returns the order of day, month and year in a pattern, followed by the hour: "DMYH".
    private static func ordering(of pattern: String) -> String {
        let fields: [Character: Character] = ["d": "D", "M": "M", "L": "M", "y": "Y", "u": "Y", "r": "Y"]
        var order = ""
        for letter in pattern {
            if let field = fields[letter], !order.contains(field) { order.append(field) }
        }
        return order + "H"
    }

    private var designations: [String: PropertyListValue] {
        var values: [String: PropertyListValue] = [
            "NSPriorDayDesignations": day(-1), "NSThisDayDesignations": day(0), "NSNextDayDesignations": day(1),
            "NSNextNextDayDesignations": day(2), "NSHourNameDesignations": hours,
        ]
        // ICU has no such words. All languages fall back to OpenStep's English words, since English is searched last.
        if code == "en" {
            values["NSEarlierTimeDesignations"] = ["prior", "last", "past", "ago"]
            values["NSLaterTimeDesignations"] = ["next"]
            values["NSYearMonthWeekDesignations"] = ["year", "month", "week"]
        }
        return values
    }

    /// Returns the word for a day relative to today: "yesterday".
    private func day(_ offset: Int) -> PropertyListValue {
        let today = Date(timeIntervalSince1970: 43_200)
        // The style describes its anchor relative to the formatted date.
        let anchor = today.addingTimeInterval(Double(offset) * 86_400)
        var style = Date.AnchoredRelativeFormatStyle(
            anchor: anchor, presentation: .named, unitsStyle: .wide, locale: locale, calendar: calendar)
        style.allowedFields = [.day]
        return .array([.string(style.format(today))])
    }

    /// Hours of the day with their names.
    private var hours: PropertyListValue {
        let formatter = dateFormatter
        return .array(
            [0, 10, 12, 14, 19].map { hour in
                // "b" has separate words for midnight and noon in languages that have them.
                formatter.dateFormat = hour % 12 == 0 ? "bbbb" : "BBBB"
                let name = formatter.string(from: Date(timeIntervalSince1970: Double(hour) * 3_600))
                return [.integer(Int64(hour)), .string(name)]
            })
    }

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        calendar.locale = locale
        return calendar
    }

    private var dateFormatter: DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = locale
        formatter.calendar = calendar
        formatter.timeZone = .gmt
        return formatter
    }
}
