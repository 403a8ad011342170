import DefaultsFoundation
import DefaultsKit
import Foundation
import PropertyList
import TestSupport
import Testing

/// The chapter "User Defaults", on registering.
@Suite("Registering factory settings")
struct FactoryDefaultsTests {
    private let prefs = UserDefaults(inMemory: [:])

    @Test("The example registers a few defaults in initialize")
    func few() {
        var defs: [String: Any] = [:]
        defs["Month"] = "May"
        defs["Year"] = 2002
        prefs.register(defaults: defs)
        #expect(prefs.string(forKey: "Month") == "May")
        #expect(prefs.integer(forKey: "Year") == 2002)
    }

    @Test("The example registers many defaults from FactoryDefaults.plist in the bundle")
    func file() throws {
        try prefs.registerDefaults(fromResource: "FactoryDefaults", in: .module)
        #expect(prefs.string(forKey: "Month") == "May")
        #expect(prefs.integer(forKey: "Year") == 2002)
    }

    @Test("A file that is missing or isn't a dictionary is an error, and nothing is registered")
    func noFile() throws {
        #expect(throws: DefaultsProblem.self) { try prefs.registerDefaults(fromResource: "Missing", in: .module) }
        try withTemporaryDirectory { directory in
            let path = directory + "/FactoryDefaults.plist"
            try RawFile.replace(path, with: Array("(May, 2002)".utf8))
            #expect(throws: DefaultsProblem.self) { try prefs.registerDefaults(contentsOf: path) }
        }
        #expect(prefs.object(forKey: "Month") == nil)
    }
}
