import DefaultsFoundation
import DefaultsKit
import Foundation
import PropertyList
import Testing

// Foundation's class of that name is hidden by it.
import class DefaultsKit.UserDefaults

extension UserDefaults {
    fileprivate func setColor(_ color: Color?, forKey key: String) { set(archiving: color, forKey: key) }
    fileprivate func color(forKey key: String) -> Color? { unarchivedObject(of: Color.self, forKey: key) }
}

/// The examples of the documentation of this library, as they are there.
@Suite("The documentation's example")
struct DocumentationTests {
    private let defaults = UserDefaults(inMemory: ["AppleLanguages": ["de"]])

    @Test("of languages does what it says")
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

    @Test("of stored objects does what it says")
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

    /// But for the bundle, which stands for `.module`.
    @Test("of factory defaults does what it says")
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
