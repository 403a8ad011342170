import DefaultsFoundation
import DefaultsKit
import Foundation
import ProgramSupport
import PropertyList
import Testing

/// "User Defaults Programming Topics for Cocoa", the introduction.
@Suite("Introduction to User Defaults")
struct IntroductionTests {
    @Test("There are reasonable initial values, and the user's own are had back in later sessions")
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

    @Test("Only what a property list can hold is stored")
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
                Issue.record("It isn't data.")
                return
            }
            try app.launch { #expect($0.unarchivedObject(of: Font.self, forKey: "font") == font) }
        }
    }

    @Test("Values for this host alone are read, and written beside with the other interface")
    func hosts() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("any", forKey: "display")
                let thisHost = try PreferencesDomain(App.identifier, host: .current)
                thisHost.set("this", forKey: "display", in: defaults)
                #expect(defaults.string(forKey: "display") == "this")
                // Writing goes to any host, as before.
                defaults.set("other", forKey: "display")
                #expect(defaults.string(forKey: "display") == "this")
            }
            try app.launch { defaults in
                #expect(defaults.string(forKey: "display") == "this")
                let anyHost = try PreferencesDomain(App.identifier)
                #expect(anyHost.propertyListValue(forKey: "display", in: defaults) == "other")
            }
        }
    }
}
