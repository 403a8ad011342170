import DefaultsKit
import ProgramSupport
import PropertyList
import Testing

/// "About the User Defaults System", on the organization of preferences, beyond "Defaults Domains".
@Suite("The Organization of Preferences")
struct OrganizationTests {
    @Test("Preferences don't change between launches")
    func launches() throws {
        try App.with { app in
            try app.launch { $0.set(["a": [1, 2.5, true]], forKey: "key") }
            let first = try app.launch { $0.values() }
            let second = try app.launch { $0.values() }
            #expect(first == second)
            #expect(second["key"] == ["a": [1, 2.5, true]])
        }
    }

    @Test("Domains of one app and those for all apps are kept apart")
    func appAndGlobal() throws {
        try App.with { app in
            try app.place.write(["everywhere": 1], to: app.globalPath)
            try app.launch("com.example.One") { $0.set(1, forKey: "here") }
            try app.launch("com.example.Two") { defaults in
                #expect(defaults.integer(forKey: "everywhere") == 1)
                #expect(defaults.object(forKey: "here") == nil)
            }
        }
    }
}
