import DefaultsFoundation
import DefaultsKit
import Foundation
import PropertyList
import Testing

/// The chapter "User Defaults", on storing colors.
@Suite("Storing an NSColor")
struct StoringColorTests {
    @Test("A color can be stored as the name of its space and a dictionary of components")
    func components() throws {
        try App.with { app in
            try app.launch { prefs in
                prefs.set("NSCalibratedRGBColorSpace", forKey: "Text Color Space")
                prefs.set(["red": 0.25, "green": 0.5, "blue": 1], forKey: "Text Color Components")
            }
            try app.launch { prefs in
                let components = try #require(prefs.dictionary(forKey: "Text Color Components"))
                #expect(prefs.string(forKey: "Text Color Space") == "NSCalibratedRGBColorSpace")
                #expect(components["green"] as? Double == 0.5)
            }
        }
    }

    @Test("Example 2-34 stores the archived color")
    func example() throws {
        try App.with { app in
            try app.launch { $0.set(archiving: Color.blue, forKey: "Text Color") }
            try app.launch { prefs in
                #expect(prefs.data(forKey: "Text Color") != nil)
                #expect(prefs.unarchivedObject(of: Color.self, forKey: "Text Color") == .blue)
            }
        }
    }

    @Test("Any class that can be archived works, including Foundation's own")
    func anyClass() throws {
        try App.with { app in
            let names = NSSet(array: ["a" as NSString, "b" as NSString])
            let url = try #require(NSURL(string: "https://example.org/a"))
            try app.launch { prefs in
                prefs.set(archiving: Font(name: "Menlo", size: 11), forKey: "font")
                prefs.set(archiving: url, forKey: "address")
                prefs.set(archiving: names, forKey: "names")
            }
            try app.launch { prefs in
                #expect(prefs.unarchivedObject(of: Font.self, forKey: "font") == Font(name: "Menlo", size: 11))
                #expect(prefs.unarchivedObject(of: NSURL.self, forKey: "address") == url)
                #expect(prefs.unarchivedObject(of: NSSet.self, forKey: "names") == names)
            }
        }
    }
}
