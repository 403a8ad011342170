import DefaultsFoundation
import DefaultsKit
import ProgramSupport
import PropertyList
import Testing

/// "About the User Defaults System", on good preferences.
@Suite("What Makes a Good Preference?")
struct GoodPreferenceTests {
    /// This release's interpretation of a simple value.
    private enum Quality: String, DefaultsValue {
        case low, high
    }

    @Test("A simple value is stored, and the app interprets it as it needs")
    func simpleValues() throws {
        try App.with { app in
            let key = DefaultsKey<Quality>("quality", default: .low)
            try app.launch { $0[key] = .high }
            #expect(try app.place.read(app.path) == ["quality": "high"])
            try app.launch { #expect($0[key] == .high) }
        }
    }

    @Test("A value of another release that this one doesn't know reads as the default and is kept")
    func releases() throws {
        try App.with { app in
            let key = DefaultsKey<Quality>("quality", default: .low)
            try app.launch { $0.set("ultra", forKey: "quality") }
            try app.launch { defaults in
                #expect(defaults[key] == .low)
                defaults.set(1, forKey: "other")
            }
            #expect(try app.place.read(app.path) == ["quality": "ultra", "other": 1])
        }
    }

    @Test("A stored object that this release can't decode reads as nil and is kept")
    func objects() throws {
        try App.with { app in
            try app.launch { $0.set(archiving: Font(name: "Menlo", size: 11), forKey: "font") }
            let before = try app.place.read(app.path)["font"]
            try app.launch { defaults in
                #expect(defaults.unarchivedObject(of: Color.self, forKey: "font") == nil)
                defaults.set(1, forKey: "other")
            }
            #expect(before != nil)
            #expect(try app.place.read(app.path)["font"] == before)
        }
    }
}
