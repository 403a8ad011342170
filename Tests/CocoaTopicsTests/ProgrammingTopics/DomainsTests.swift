import DefaultsBindings
import DefaultsFoundation
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// "Defaults Domains", in its separate edition and in "User Defaults Programming Topics for Cocoa".
@Suite("Defaults Domains")
struct DomainsTests {
    @Test("A domain has a name, and stores defaults as key-value pairs")
    func dictionaries() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set(1, forKey: "a")
                defaults.set("two", forKey: "b")
                let domain = try #require(defaults.persistentDomain(forName: App.identifier))
                #expect(domain["a"] as? Int == 1)
                #expect(domain["b"] as? String == "two")
                #expect(domain.count == 2)
            }
        }
    }

    static let values: [PropertyListValue] = [
        .data([1, 2, 3]), "text", 5, 1.5, true, .date(PropertyListDate(secondsSinceReferenceDate: 700_000_000)),
        ["a", 1, [2]], ["key": ["nested": true]],
    ]

    @Test("A value is data, a string, a number, a date, an array or a dictionary", arguments: values)
    func kinds(value: PropertyListValue) throws {
        try App.with { app in
            try app.launch { $0.set(value, forKey: "value") }
            try app.launch { #expect($0.propertyListValue(forKey: "value") == value) }
        }
    }

    @Test("Defaults are stored for each user")
    func users() throws {
        try App.with { app in
            try app.launch { $0.set(1, forKey: "mine") }
            try App.with { another in
                try another.launch { #expect($0.object(forKey: "mine") == nil) }
            }
            // Other users can't read it.
            var status = stat()
            #expect(stat(app.path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }

    @Test("Defaults can also affect all users, with lower precedence than each user's own")
    func allUsers() throws {
        try App.with { app in
            try app.place.write(["theme": "everyone's"], to: "\(app.place.system)/\(App.identifier).plist")
            try app.launch { defaults in
                #expect(defaults.string(forKey: "theme") == "everyone's")
                defaults.set("mine", forKey: "theme")
                #expect(defaults.string(forKey: "theme") == "mine")
            }
        }
    }

    @Test("A persistent domain outlives the process, and a volatile one doesn't")
    func lifetimes() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.setPersistentDomain(["a": 1], forName: "com.example.kept")
                defaults.setVolatileDomain(["b": 2], forName: "com.example.passing")
                #expect(defaults.volatileDomain(forName: "com.example.passing")["b"] as? Int == 2)
            }
            try app.launch { defaults in
                #expect(defaults.persistentDomain(forName: "com.example.kept")?["a"] as? Int == 1)
                #expect(defaults.volatileDomain(forName: "com.example.passing").isEmpty)
            }
        }
    }

    @Test("A change is saved automatically")
    func saving() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("saved", forKey: "key")
                // Nothing calls synchronize().
                #expect(eventually { (try? app.place.read(app.path)) == ["key": "saved"] })
                UserDefaultsController(defaults: defaults).values["key"] = "by the controller"
                #expect(eventually { (try? app.place.read(app.path)) == ["key": "by the controller"] })
            }
        }
    }

    @Test("The standard domains are searched in order, each persistent or volatile as the document's table says")
    func order() throws {
        try App.with { app in
            try app.place.write(["NSDecimalSeparator": "application"], to: app.path)
            try app.place.write(
                ["NSDecimalSeparator": "global", "AppleLanguages": ["de"]], to: app.globalPath)
            try app.launch(arguments: ["-NSDecimalSeparator", "argument"]) { defaults in
                defaults.useLanguagesDomains()
                defaults.register(defaults: ["NSDecimalSeparator": "registered"])
                let held = defaults.layers(holding: "NSDecimalSeparator")
                #expect(held.map(\.value) == ["argument", "application", "global", ",", ".", "registered"])
                let areVolatile = held.map { if case .volatile = $0.kind { true } else { false } }
                #expect(areVolatile == [true, false, false, true, true, true])
                #expect(
                    defaults.volatileDomainNames == [
                        UserDefaults.argumentDomain, UserDefaults.registrationDomain, "de", "en",
                    ])
            }
        }
    }

    @Test("The search ends at the first domain that has the key")
    func nearest() throws {
        try App.with { app in
            try app.place.write(["both": "application"], to: app.path)
            try app.place.write(["both": "global", "one": "global"], to: app.globalPath)
            try app.launch { defaults in
                #expect(defaults.string(forKey: "both") == "application")
                #expect(defaults.string(forKey: "one") == "global")
            }
        }
    }

    @Test("Only domains in the search list are searched")
    func others() throws {
        try App.with { app in
            try app.place.write(["key": 1], to: "\(app.place.preferences)/com.example.other.plist")
            try app.launch { defaults in
                #expect(defaults.object(forKey: "key") == nil)
                defaults.setVolatileDomain(["key": 2], forName: "com.example.volatile")
                #expect(defaults.object(forKey: "key") == nil)
                defaults.addSuite(named: "com.example.other")
                #expect(defaults.integer(forKey: "key") == 1)
            }
        }
    }
}
