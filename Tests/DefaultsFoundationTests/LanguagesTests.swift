import DefaultsClient
import DefaultsCore
import DefaultsFoundation
import DefaultsKit
import PropertyList
import TestSupport
import Testing

@Suite("Languages domains", .timeLimit(.minutes(1)))
struct LanguagesTests {
    private func defaults(_ languages: PropertyListValue...) -> UserDefaults {
        let defaults = UserDefaults(inMemory: ["AppleLanguages": .array(languages)])
        defaults.useLanguagesDomains()
        return defaults
    }

    @Test(
        "Languages domains contain ICU's data",
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

    @Test("There is a domain for each of the user's languages and for English, and none for an unknown language")
    func names() {
        let defaults = defaults("fr", "klingon", "de-AT", "NSRegistrationDomain", 5, "fr")
        #expect(defaults.volatileDomainNames == ["de-AT", "en", "fr"])
        #expect(defaults.volatileDomain(forName: "de-AT")["NSLanguageCode"] as? String == "de")
        #expect(defaults.volatileDomain(forName: "ja").isEmpty)
        let held = defaults.layers(holding: "NSDecimalSeparator").map(\.description)
        #expect(held == ["fr", "de-AT", "en"])
    }

    @Test("Languages domains are searched after stored values, and before registered ones")
    func order() {
        let defaults = defaults("de")
        defaults.register(defaults: ["NSDecimalSeparator": "registered", "other": 1])
        #expect(defaults.string(forKey: "NSDecimalSeparator") == ",")
        #expect(defaults.dictionaryRepresentation()["NSDecimalSeparator"] as? String == ",")
        #expect(defaults.integer(forKey: "other") == 1)
        defaults.set(";", forKey: "NSDecimalSeparator")
        #expect(defaults.string(forKey: "NSDecimalSeparator") == ";")
    }

    @Test("A program that hasn't called useLanguagesDomains() has no languages domains")
    func unasked() {
        let defaults = UserDefaults(inMemory: ["AppleLanguages": ["de"]])
        #expect(defaults.volatileDomainNames.isEmpty)
        #expect(defaults.object(forKey: "NSDecimalSeparator") == nil)
    }

    @Test("A volatile domain set by the program replaces the languages domain of its name")
    func replaced() {
        let defaults = defaults("de")
        defaults.setVolatileDomain(["NSDecimalSeparator": "'"], forName: "de")
        #expect(defaults.string(forKey: "NSDecimalSeparator") == "'")
        defaults.removeVolatileDomain(forName: "de")
        #expect(defaults.string(forKey: "NSDecimalSeparator") == ",")
    }

    @Test("Languages domains follow AppleLanguages, and observers of their keys are notified")
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

    private func live(_ path: String, arguments: [String] = []) throws -> Client {
        let environment = Environment(["DEFAULTS_DIRECTORY": path, "XDG_RUNTIME_DIR": path])
        return Client(.success(try Location(environment: environment)), arguments: ["program"] + arguments)
    }

    @Test("Languages domains follow AppleLanguages in the arguments")
    func argument() throws {
        try withTemporaryDirectory { path in
            let client = try live(path, arguments: ["-AppleLanguages", "(ja)"])
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: client))
            defaults.useLanguagesDomains()
            #expect(defaults.string(forKey: "NSLanguageCode") == "ja")
        }
    }

    @Test("Languages domains follow another process's change to the global domain")
    func otherProcess() throws {
        try withTemporaryDirectory { path in
            let client = try live(path)
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: client))
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
