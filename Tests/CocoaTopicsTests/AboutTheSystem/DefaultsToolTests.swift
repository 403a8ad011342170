import DefaultsKit
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// "About the User Defaults System", on the command.
@Suite("Viewing Preferences Using the Defaults Tool")
struct DefaultsToolTests {
    @Test("`defaults read` shows what an app stored")
    func application() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("Ada", forKey: "Author")
                defaults.set(2002, forKey: "Year")
            }
            let outcome = try Programs.run(
                Programs.defaults, ["read", App.identifier], environment: app.environment)
            #expect(outcome.output == "{\n    Author = Ada;\n    Year = 2002;\n}\n")
            #expect(outcome.status == 0)
        }
    }

    @Test("`defaults help` describes the other verbs")
    func help() throws {
        let outcome = try Programs.run(Programs.defaults, ["help", "write"])
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("defaults write"))
    }

    @Test("`defaults read NSGlobalDomain` shows the values that all apps share")
    func global() throws {
        try App.with { app in
            try app.place.write(["AppleLanguages": ["de", "en"]], to: app.globalPath)
            let outcome = try Programs.run(
                Programs.defaults, ["read", "NSGlobalDomain"], environment: app.environment)
            #expect(outcome.output == "{\n    AppleLanguages =     (\n        de,\n        en\n    );\n}\n")
            #expect(outcome.status == 0)
        }
    }
}
