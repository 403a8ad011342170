import DefaultsBindings
import DefaultsFoundation
import DefaultsKit
import Foundation
import PropertyList
import Testing

// This import hides Foundation's class of the same name.
import class DefaultsKit.UserDefaults

extension UserDefaults {
    fileprivate func setColor(_ color: Color?, forKey key: String) { set(archiving: color, forKey: key) }
    fileprivate func color(forKey key: String) -> Color? { unarchivedObject(of: Color.self, forKey: key) }
}

/// The examples in this library's documentation, verbatim.
@Suite("Examples in the documentation")
struct DocumentationTests {
    private let defaults = UserDefaults(inMemory: ["AppleLanguages": ["de"]])

    @Test("The example of languages works as documented")
    func languages() {
        defaults.useLanguagesDomains()
        #expect(defaults.stringArray(forKey: "NSWeekDayNameArray")?.first == "Sonntag")
        #expect(defaults.string(forKey: "NSDecimalSeparator") == ",")
        #expect(defaults.volatileDomain(forName: "de").count == 27)
        #expect(defaults.volatileDomain(forName: "en").count == 30)
        // The table's examples.
        #expect(defaults.string(forKey: "NSShortTimeDateFormatString") == "dd.MM.yy, HH:mm")
        #expect(defaults.string(forKey: "NSDateFormatString") == "EEEE, d. MMMM y")
        #expect(defaults.stringArray(forKey: "NSNextNextDayDesignations") == ["übermorgen"])
        #expect(defaults.stringArray(forKey: "NSShortWeekDayNameArray")?.first == "So.")
        #expect((defaults.array(forKey: "NSHourNameDesignations")?.first as? [Any])?.last as? String == "AM")
    }

    @Test("The example of stored objects works as documented")
    func storedObjects() {
        let color = Color(name: "sky", components: [0.25, 0.5, 1])
        defaults.setColor(color, forKey: "color")
        #expect(defaults.color(forKey: "color") == color)

        let (sky, sun) = (color, Color(name: "sun", components: [1, 1, 0]))
        defaults.set(archiving: [sky, sun] as NSArray, forKey: "recentColors")
        let colors =
            defaults.unarchivedObject(ofClasses: [NSArray.self, Color.self], forKey: "recentColors") as? [Color]
        #expect(colors == [sky, sun])
    }

    /// Verbatim, except for the bundle, which takes the place of `.module`.
    @Test("The example of factory defaults works as documented")
    func factoryDefaults() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "factory-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appending(path: "FactoryDefaults.plist")
        try Data("{ color = red; font = Menlo; size = <*I12>; }".utf8).write(to: file)
        let module = try #require(Bundle(path: directory.path))

        let factory = try defaults.registerDefaults(fromResource: "FactoryDefaults", in: module)
        let initialValues = factory.filter { ["color", "font"].contains($0.key) }
        let controller = UserDefaultsController(defaults: defaults, initialValues: initialValues)
        controller.values["color"] = "blue"
        controller.revertToInitialValues()
        #expect(controller.values["color"] == "red")
        #expect(defaults.integer(forKey: "size") == 12)
    }
}
