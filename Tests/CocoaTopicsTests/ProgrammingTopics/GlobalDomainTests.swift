import DefaultsKit
import ProgramSupport
import PropertyList
import Testing

/// "Defaults Domains", on the global domain.
@Suite("Global Domain")
struct GlobalDomainTests {
    @Test("AppleMeasurementUnits applies to all apps, except one with its own value")
    func measurementUnits() throws {
        try App.with { app in
            try app.launch { defaults in
                try defaults.domain(UserDefaults.globalDomain)
                    .set("Centimeters", forKey: "AppleMeasurementUnits")
            }
            for identifier in ["com.example.Draw", "com.example.Write"] {
                try app.launch(identifier) { defaults in
                    #expect(defaults.string(forKey: "AppleMeasurementUnits") == "Centimeters")
                }
            }
            try app.launch("com.example.Draw") { $0.set("Inches", forKey: "AppleMeasurementUnits") }
            try app.launch("com.example.Draw") { #expect($0.string(forKey: "AppleMeasurementUnits") == "Inches") }
            try app.launch("com.example.Write") {
                #expect($0.string(forKey: "AppleMeasurementUnits") == "Centimeters")
            }
        }
    }

    @Test("AppleLanguages holds the user's languages in the order of preference")
    func languages() throws {
        let languages = ["en", "es", "fr", "de", "it", "sv"]
        try App.with { app in
            try app.place.write(
                ["AppleLanguages": .array(languages.map(PropertyListValue.string))], to: app.globalPath)
            try app.launch { #expect($0.stringArray(forKey: "AppleLanguages") == languages) }
        }
    }

    @Test("An app that sets a key of the global domain sets its own value")
    func ownValue() throws {
        try App.with { app in
            try app.place.write(["key": "global"], to: app.globalPath)
            try app.launch { $0.set("own", forKey: "key") }
            #expect(try app.place.read(app.globalPath) == ["key": "global"])
            #expect(try app.place.read(app.path) == ["key": "own"])
        }
    }
}
