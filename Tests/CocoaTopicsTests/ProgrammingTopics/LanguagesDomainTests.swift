import DefaultsClient
import DefaultsCore
import DefaultsFoundation
import DefaultsKit
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// "Defaults Domains", on the languages domains.
@Suite("Languages Domain")
struct LanguagesDomainTests {
    private func write(_ languages: PropertyListValue, _ app: App) throws {
        try app.place.write(["AppleLanguages": languages], to: app.globalPath)
    }

    @Test("Each of the user's languages has a domain with its name")
    func names() throws {
        try App.with { app in
            try write(["de", "fr"], app)
            try app.launch { defaults in
                defaults.useLanguagesDomains()
                #expect(defaults.volatileDomain(forName: "de")["NSLanguageName"] as? String == "Deutsch")
                #expect(defaults.volatileDomain(forName: "fr")["NSLanguageName"] as? String == "français")
                #expect(defaults.volatileDomain(forName: "it").isEmpty)
            }
        }
    }

    @Test("A languages domain has the locale's names of months and days of the week, as Foundation formats dates")
    func monthsAndDays() throws {
        try App.with { app in
            try write(["sv"], app)
            try app.launch { defaults in
                defaults.useLanguagesDomains()
                let formatter = DateFormatter()
                formatter.locale = Locale(identifier: "sv")
                #expect(defaults.stringArray(forKey: "NSMonthNameArray") == formatter.monthSymbols)
                #expect(defaults.stringArray(forKey: "NSWeekDayNameArray") == formatter.weekdaySymbols)
                formatter.dateFormat = defaults.string(forKey: "NSDateFormatString")
                let date = Date(timeIntervalSince1970: 0)
                formatter.timeZone = .gmt
                #expect(formatter.string(from: date) == "torsdag 1 januari 1970")
            }
        }
    }

    @Test("The languages domains follow a change to AppleLanguages while the app runs")
    func live() throws {
        try App.with { app in
            try write(["de"], app)
            try app.launch { defaults in
                defaults.useLanguagesDomains()
                #expect(defaults.stringArray(forKey: "NSMonthNameArray")?.first == "Januar")
                try write(["it"], app)
                #expect(eventually { defaults.stringArray(forKey: "NSMonthNameArray")?.first == "gennaio" })
            }
        }
    }

    @Test(
        "An observer of a languages domain's key is notified when the command changes AppleLanguages",
        .timeLimit(.minutes(1)))
    func liveThroughAgent() async throws {
        let root = try makeTemporaryDirectory()
        defer { removeTree(root) }
        let place = AgentProcess.Place(preferences: root + "/p", runtime: root + "/r")
        for path in [place.preferences, place.runtime] { try RawFile.makeDirectory(path, mode: 0o700) }
        let agent = try AgentProcess(place)
        defer { agent.kill() }
        try agent.defaults("write", "-g", "AppleLanguages", "-array", "de")

        let client = Client(.success(try Location(environment: Environment(place.environment))))
        defer { client.close() }
        let defaults = try #require(UserDefaults(suiteName: App.identifier, in: client))
        defaults.useLanguagesDomains()
        var separators: [String] = []
        for await separator in defaults.updates(of: DefaultsKey<String>("NSDecimalSeparator", default: "none")) {
            separators.append(separator)
            if separator == "." { break }
            try agent.defaults("write", "-g", "AppleLanguages", "-array", "en")
        }
        #expect(separators == [",", "."])
    }
}
