import Foundation
import PropertyList

/// What ICU knows of a language, by OpenStep's keys of a languages domain.
///
/// Formats are patterns as `DateFormatter.dateFormat` and `NumberFormatter.positiveFormat` take them.
struct LanguageFacts {
    private let locale: Locale
    /// The locale with the region where most speak the language, unless it names one: for the currency.
    private let regional: Locale
    /// What the language is made of: its code, and its script and region if it names them.
    private let subtags: [String]
    private let code: String

    /// Looks a language up, by its code, script and region alone.
    ///
    /// - Parameter entry: as in `AppleLanguages`: "de", "de-AT", "zh-Hant", and "de_AT" too.
    init?(_ entry: String) {
        guard Self.isWellFormed(entry) else { return nil }
        let components = Locale.Language.Components(identifier: entry.replacing("_", with: "-"))
        // Extensions and keywords end the process: Foundation asks for a calendar, a currency or a numbering system of
        // any name, and unwraps what ICU has of it.
        let locale = Locale(
            languageCode: components.languageCode, script: components.script, languageRegion: components.region)
        guard let code = components.languageCode, code.isISOLanguage else { return nil }
        self.locale = locale
        self.code = code.identifier
        subtags = [code.identifier, components.script?.identifier, components.region?.identifier].compactMap(\.self)
        regional = locale.region == nil ? Locale(identifier: locale.language.maximalIdentifier) : locale
    }

    /// Whether an entry is made of subtags, and no longer than a language is: ICU's parsers need not see any other.
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
            // Not `Locale.Language.parent`: for "no-NO" it never returns, and for "nb" it has ICU take the root's formats
            // for those of the language from then on, in all of the process.
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
        // ICU's patterns leave the sign out where nothing else tells the two apart.
        values["NSNegativeCurrencyFormatString"] = .string(negative == positive ? "-" + positive : negative)
        // None for a language that nobody pays in, as Esperanto, nor for a region of many countries, as in "es-419"; the
        // symbol is "¤" then, and would stand with another language's code.
        if let code = formatter.currencyCode as String? {
            values["NSInternationalCurrencyString"] = .string(code)
            values["NSCurrencySymbol"] = Self.value(formatter.currencySymbol)
        }
        return values.compactMapValues(\.self)
    }

    private var dates: [String: PropertyListValue] {
        let formatter = dateFormatter
        func format(_ date: DateFormatter.Style, _ time: DateFormatter.Style) -> String {
            formatter.dateStyle = date
            formatter.timeStyle = time
            return formatter.dateFormat ?? ""
        }
        let short = format(.short, .none)
        let values: [String: PropertyListValue?] = [
            "NSWeekDayNameArray": Self.value(formatter.weekdaySymbols),
            "NSShortWeekDayNameArray": Self.value(formatter.shortWeekdaySymbols),
            "NSMonthNameArray": Self.value(formatter.monthSymbols),
            "NSShortMonthNameArray": Self.value(formatter.shortMonthSymbols),
            "NSAMPMDesignation": Self.value([formatter.amSymbol, formatter.pmSymbol].compactMap(\.self)),
            "NSDateFormatString": .string(format(.full, .none)),
            "NSShortDateFormatString": .string(short),
            "NSTimeFormatString": .string(format(.none, .medium)),
            "NSTimeDateFormatString": .string(format(.full, .long)),
            "NSShortTimeDateFormatString": .string(format(.short, .short)),
            "NSDateTimeOrdering": .string(Self.ordering(of: short)),
        ]
        return values.compactMapValues(\.self)
    }

    /// A text of a formatter as a value; Foundation declares as always there what may be missing.
    private static func value(_ text: String?) -> PropertyListValue? { text.map(PropertyListValue.string) }

    private static func value(_ texts: [String]?) -> PropertyListValue? {
        texts.map { .array($0.map(PropertyListValue.string)) }
    }

    /// The order of day, month and year in a pattern, and the hour: "DMYH".
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
        // ICU has no such words; those of OpenStep are found by all languages, since English is searched last.
        if code == "en" {
            values["NSEarlierTimeDesignations"] = ["prior", "last", "past", "ago"]
            values["NSLaterTimeDesignations"] = ["next"]
            values["NSYearMonthWeekDesignations"] = ["year", "month", "week"]
        }
        return values
    }

    /// The word for a day, counted from today: "yesterday".
    private func day(_ offset: Int) -> PropertyListValue {
        let today = Date(timeIntervalSince1970: 43_200)
        // The style tells of its anchor, as seen from the date that it formats.
        let anchor = today.addingTimeInterval(Double(offset) * 86_400)
        var style = Date.AnchoredRelativeFormatStyle(
            anchor: anchor, presentation: .named, unitsStyle: .wide, locale: locale, calendar: calendar)
        style.allowedFields = [.day]
        return .array([.string(style.format(today))])
    }

    /// Hours of the day, and what they are called.
    private var hours: PropertyListValue {
        let formatter = dateFormatter
        return .array(
            [0, 10, 12, 14, 19].map { hour in
                // "b" has words of its own for midnight and noon where a language has them.
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
