import DefaultsKit
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// "Defaults Domains", on the application domain.
@Suite("Application Domain")
struct ApplicationDomainTests {
    @Test("It is named after the application's identifier, and what is set goes there")
    func identifier() throws {
        try App.with { app in
            try app.launch { $0.set(1, forKey: "key") }
            #expect(try app.place.read("\(app.place.preferences)/com.example.App.plist") == ["key": 1])
            try app.launch("com.example.Other") { #expect($0.object(forKey: "key") == nil) }
        }
    }

    @Test("Its file may be looked at, and here be changed by hand while the app runs")
    func file() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("set", forKey: "key")
                #expect(defaults.synchronize())
                #expect(try RawFile.read(app.path).starts(with: "<?xml".utf8))
                try app.place.write(["key": "by hand"], to: app.path)
                #expect(eventually { defaults.string(forKey: "key") == "by hand" })
            }
        }
    }
}
