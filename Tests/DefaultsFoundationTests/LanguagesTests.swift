import DefaultsCore
import DefaultsFoundation
import DefaultsKit
import PropertyList
import TestSupport
import Testing

@Suite("The languages domains", .timeLimit(.minutes(1)))
struct LanguagesTests {
    private func defaults(_ languages: PropertyListValue...) -> UserDefaults {
        let defaults = UserDefaults(inMemory: ["AppleLanguages": .array(languages)])
        defaults.useLanguagesDomains()
        return defaults
    }

    @Test(
        "have what ICU knows",
        arguments: [
            ("en", "Sunday", "Jan", ["AM", "PM"], ".", ",", "$", "USD", "MDYH", "English", "yesterday"),
            ("de", "Sonntag", "Jan.", ["AM", "PM"], ",", ".", "€", "EUR", "DMYH", "Deutsch", "gestern"),
            ("fr", "dimanche", "janv.", ["AM", "PM"], ",", "\u{202F}", "€", "EUR", "DMYH", "français", "hier"),
            ("ja", "日曜日", "1月", ["午前", "午後"], ".", ",", "¥", "JPY", "YMDH", "日本語", "昨日"),
        ] as [(String, String, String, [String], String, String, String, String, String, String, String)])
    func facts(
        language: String, sunday: String, january: String, designations: [String], decimal: String, thousands: String,
        currency: String, code: String, order: String, name: String, yesterday: String
    ) {
        let defaults = defaults(.string(language))
        let days = defaults.stringArray(forKey: "NSWeekDayNameArray")
        #expect(days?.count == 7)
        #expect(days?.first == sunday)
        #expect(defaults.stringArray(forKey: "NSShortMonthNameArray")?.first == january)
        #expect(defaults.stringArray(forKey: "NSAMPMDesignation") == designations)
        #expect(defaults.string(forKey: "NSDecimalSeparator") == decimal)
        #expect(defaults.string(forKey: "NSThousandsSeparator") == thousands)
        #expect(defaults.string(forKey: "NSCurrencySymbol") == currency)
        #expect(defaults.string(forKey: "NSInternationalCurrencyString") == code)
        #expect(defaults.string(forKey: "NSDateTimeOrdering") == order)
        #expect(defaults.string(forKey: "NSLanguageName") == name)
        #expect(defaults.string(forKey: "NSLanguageCode") == language)
        #expect(defaults.stringArray(forKey: "NSPriorDayDesignations") == [yesterday])
        // From English, which comes last.
        #expect(defaults.stringArray(forKey: "NSLaterTimeDesignations") == ["next"])
    }

    @Test("are those of the user's languages in their order, and English; one that isn't a language is none")
    func names() {
        let defaults = defaults("fr", "klingon", "de-AT", "NSRegistrationDomain", 5, "fr")
        #expect(defaults.volatileDomainNames == ["de-AT", "en", "fr"])
        #expect(defaults.volatileDomain(forName: "de-AT")["NSLanguageCode"] as? String == "de")
        #expect(defaults.volatileDomain(forName: "ja").isEmpty)
        let held = defaults.explain("NSDecimalSeparator").map(\.description)
        #expect(held == ["fr", "de-AT", "en"])
    }

    @Test("are searched after what is stored, and before what is registered")
    func order() {
        let defaults = defaults("de")
        defaults.register(defaults: ["NSDecimalSeparator": "registered", "other": 1])
        #expect(defaults.string(forKey: "NSDecimalSeparator") == ",")
        #expect(defaults.dictionaryRepresentation()["NSDecimalSeparator"] as? String == ",")
        #expect(defaults.integer(forKey: "other") == 1)
        defaults.set(";", forKey: "NSDecimalSeparator")
        #expect(defaults.string(forKey: "NSDecimalSeparator") == ";")
    }

    @Test("are not there for a program that hasn't asked")
    func unasked() {
        let defaults = UserDefaults(inMemory: ["AppleLanguages": ["de"]])
        #expect(defaults.volatileDomainNames.isEmpty)
        #expect(defaults.object(forKey: "NSDecimalSeparator") == nil)
    }

    @Test("give way to one of the name that the program sets")
    func replaced() {
        let defaults = defaults("de")
        defaults.setVolatileDomain(["NSDecimalSeparator": "'"], forName: "de")
        #expect(defaults.string(forKey: "NSDecimalSeparator") == "'")
        defaults.removeVolatileDomain(forName: "de")
        #expect(defaults.string(forKey: "NSDecimalSeparator") == ",")
    }

    @Test("follow the list, and who follows a key of theirs is told")
    func live() async {
        let defaults = UserDefaults(inMemory: [:])
        var updates = defaults.updates(of: DefaultsKey<String>("NSDecimalSeparator", default: "")).makeAsyncIterator()
        #expect(await updates.next() == "")
        defaults.useLanguagesDomains()
        #expect(await updates.next() == ".")
        defaults.set(["de"], forKey: "AppleLanguages")
        #expect(await updates.next() == ",")
        defaults.removeObject(forKey: "AppleLanguages")
        #expect(await updates.next() == ".")
    }

    private func live(_ path: String, arguments: [String] = []) throws -> LiveDomains {
        let environment = Environment(["DEFAULTS_DIRECTORY": path, "XDG_RUNTIME_DIR": path])
        return LiveDomains(.success(try LivePlace(environment: environment)), arguments: ["program"] + arguments)
    }

    @Test("come from the arguments, too")
    func argument() throws {
        try withTemporaryDirectory { path in
            let live = try live(path, arguments: ["-AppleLanguages", "(ja)"])
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: live))
            defaults.useLanguagesDomains()
            #expect(defaults.string(forKey: "NSLanguageCode") == "ja")
        }
    }

    @Test("follow what another process writes for all programs")
    func otherProcess() throws {
        try withTemporaryDirectory { path in
            let live = try live(path)
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: live))
            defaults.useLanguagesDomains()
            let other = try self.live(path)
            defer { other.close() }
            let global = try #require(UserDefaults(suiteName: UserDefaults.globalDomain, in: other))
            for (language, separator) in [("de", ","), ("ja", ".")] {
                global.set([language], forKey: "AppleLanguages")
                try global.save()
                try defaults.save()
                #expect(defaults.string(forKey: "NSLanguageCode") == language)
                #expect(defaults.string(forKey: "NSDecimalSeparator") == separator)
            }
        }
    }
}
