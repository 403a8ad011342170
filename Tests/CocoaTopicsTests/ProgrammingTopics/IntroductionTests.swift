import DefaultsFoundation
import DefaultsKit
import Foundation
import ProgramSupport
import PropertyList
import Testing

/// "User Defaults Programming Topics for Cocoa", the introduction.
@Suite("Introduction to User Defaults")
struct IntroductionTests {
    @Test("Registered values apply until the user sets others, which persist across sessions")
    func sessions() throws {
        try App.with { app in
            let registered: [String: Any] = ["fontSize": 12, "theme": "light"]
            try app.launch { defaults in
                defaults.register(defaults: registered)
                #expect(defaults.integer(forKey: "fontSize") == 12)
                defaults.set(14, forKey: "fontSize")
            }
            try app.launch { defaults in
                defaults.register(defaults: registered)
                #expect(defaults.integer(forKey: "fontSize") == 14)
                #expect(defaults.string(forKey: "theme") == "light")
            }
        }
    }

    private struct NoPropertyList {}

    @Test("Only values that a property list can contain are stored")
    func propertyListsOnly() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("kept", forKey: "key")
                defaults.set(NoPropertyList(), forKey: "key")
                defaults.set(["a": [NoPropertyList()]], forKey: "key")
                #expect(defaults.string(forKey: "key") == "kept")
            }
            #expect(try app.place.read(app.path) == ["key": "kept"])
        }
    }

    @Test("Any object that can be archived is stored as data")
    func anyObject() throws {
        try App.with { app in
            let font = Font(name: "Menlo", size: 11)
            try app.launch { $0.set(archiving: font, forKey: "font") }
            guard case .data? = try app.place.read(app.path)["font"] else {
                Issue.record("The stored object isn't data.")
                return
            }
            try app.launch { #expect($0.unarchivedObject(of: Font.self, forKey: "font") == font) }
        }
    }

    @Test("Values for this host only are read by the defaults, and written with PreferencesDomain")
    func hosts() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("any", forKey: "display")
                let thisHost = try defaults.domain(App.identifier, host: .current)
                thisHost.set("this", forKey: "display")
                #expect(defaults.string(forKey: "display") == "this")
                // Values are still written for any host.
                defaults.set("other", forKey: "display")
                #expect(defaults.string(forKey: "display") == "this")
            }
            try app.launch { defaults in
                #expect(defaults.string(forKey: "display") == "this")
                let anyHost = try defaults.domain(App.identifier)
                #expect(anyHost.propertyListValue(forKey: "display") == "other")
            }
        }
    }
}
