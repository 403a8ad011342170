import DefaultsFoundation
import DefaultsKit
import Foundation
import ProgramSupport
import PropertyList
import Testing

/// The chapter "User Defaults", up to the registration of defaults.
@Suite("User Defaults")
struct InteractingTests {
    @Test("The defaults work like a dictionary")
    func dictionary() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("Mike Beam", forKey: "Author")
                #expect(defaults.object(forKey: "Author") as? String == "Mike Beam")
                #expect(defaults.dictionaryRepresentation()["Author"] as? String == "Mike Beam")
                defaults.removeObject(forKey: "Author")
                #expect(defaults.object(forKey: "Author") == nil)
            }
        }
    }

    @Test("Every application has its own property-list file")
    func files() throws {
        try App.with { app in
            try app.launch("com.example.One") { $0.set(1, forKey: "key") }
            try app.launch("com.example.Two") { $0.set(2, forKey: "key") }
            #expect(try app.place.read("\(app.place.preferences)/com.example.One.plist") == ["key": 1])
            #expect(try app.place.read("\(app.place.preferences)/com.example.Two.plist") == ["key": 2])
        }
    }

    @Test("An argument can override any default for debugging")
    func debugging() throws {
        try App.with { app in
            try app.launch { $0.set("file", forKey: "KeyName") }
            try app.launch(arguments: ["-KeyName", "Value"]) { defaults in
                defaults.register(defaults: ["KeyName": "registered"])
                #expect(defaults.string(forKey: "KeyName") == "Value")
            }
        }
    }

    @Test("Example 2-33 sets and gets strings, numbers, dates and collections")
    func example() throws {
        try App.with { app in
            let dictionary: [String: Any] = ["one": 1, "two": "two"]
            let array: [Any] = ["a", 2, true]
            let now = Date()
            try app.launch { prefs in
                // Store and retrieve a string
                prefs.set("Mike Beam", forKey: "Author")
                #expect(prefs.string(forKey: "Author") == "Mike Beam")

                // Store and retrieve a number
                prefs.set(1373.50 as Float, forKey: "NASDAQ")
                prefs.set(2002, forKey: "Year")
                #expect(prefs.float(forKey: "NASDAQ") == 1373.50)
                #expect(prefs.integer(forKey: "Year") == 2002)

                // Store and retrieve dates
                prefs.set(now, forKey: "Last Opened")
                #expect(prefs.object(forKey: "Last Opened") as? Date == now)

                // Store collections
                prefs.set(dictionary, forKey: "A Dictionary")
                prefs.set(array, forKey: "An Array")
            }
            try app.launch { prefs in
                // Retrieve collections, which can be modified directly
                var array = try #require(prefs.array(forKey: "An Array"))
                var dictionary = try #require(prefs.dictionary(forKey: "A Dictionary"))
                #expect(array[0] as? String == "a")
                #expect(dictionary["one"] as? Int == 1)
                array.append("more")
                dictionary["three"] = 3
                #expect(prefs.array(forKey: "An Array")?.count == 3)
                #expect(prefs.dictionary(forKey: "A Dictionary")?.count == 2)
                // A date in a text file has whole seconds.
                let opened = try #require(prefs.object(forKey: "Last Opened") as? Date)
                #expect(abs(opened.timeIntervalSince(now)) < 1)
            }
        }
    }
}
