import DefaultsKit
import ProgramSupport
import PropertyList
import Testing

/// "Defaults Domains", on the registration domain.
@Suite("Registration Domain")
struct RegistrationDomainTests {
    @Test("IndexOnOpen always has a value once it is registered, and the user can override it")
    func indexOnOpen() throws {
        try App.with { app in
            try app.launch { defaults in
                #expect(defaults.object(forKey: "IndexOnOpen") == nil)
                defaults.register(defaults: ["IndexOnOpen": true])
                #expect(defaults.bool(forKey: "IndexOnOpen"))
                defaults.set(false, forKey: "IndexOnOpen")
                #expect(!defaults.bool(forKey: "IndexOnOpen"))
                defaults.removeObject(forKey: "IndexOnOpen")
                #expect(defaults.bool(forKey: "IndexOnOpen"))
            }
        }
    }

    @Test("Registered values are never saved")
    func neverSaved() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.register(defaults: ["IndexOnOpen": true])
                defaults.set(1, forKey: "other")
            }
            #expect(try app.place.read(app.path) == ["other": 1])
            try app.launch { #expect($0.object(forKey: "IndexOnOpen") == nil) }
        }
    }

    @Test("Setting and removing a key doesn't affect the registered value")
    func onlyByRegistering() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.register(defaults: ["a": 1])
                defaults.set(2, forKey: "a")
                defaults.removeObject(forKey: "a")
                #expect(defaults.volatileDomain(forName: UserDefaults.registrationDomain)["a"] as? Int == 1)
            }
        }
    }
}
