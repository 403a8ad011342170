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
    }

    @Test("of stored objects does what it says")
    func storedObjects() {
        let color = Color(name: "sky", components: [0.25, 0.5, 1])
        defaults.setColor(color, forKey: "color")
        #expect(defaults.color(forKey: "color") == color)
    }

    @Test("of factory defaults does what it says")
    func factoryDefaults() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "factory-\(UUID().uuidString).plist")
        defer { try? FileManager.default.removeItem(at: url) }
        try Data("{ color = red; font = Menlo; size = <*I12>; }".utf8).write(to: url)
        let factory = try defaults.registerDefaults(contentsOf: url)
        let initialValues = factory.filter { ["color", "font"].contains($0.key) }

        let controller = UserDefaultsController(defaults: defaults, initialValues: initialValues)
        controller.values["color"] = "blue"
        controller.revertToInitialValues()
        #expect(controller.values["color"] == "red")
        #expect(defaults.integer(forKey: "size") == 12)
    }
}
