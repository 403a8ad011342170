import DefaultsKit
import FoundationEssentials
import Testing

@Suite("NSObject methods of UserDefaults")
struct ObjectiveCCallsTests {
    private let defaults = UserDefaults(inMemory: ["name": "Ada", "count": 3])

    @Test("`value(forKey:)` returns the same value as `object(forKey:)`")
    func value() {
        #expect(defaults.value(forKey: "name") as? String == "Ada")
        #expect(defaults.value(forKey: "count") as? Int == 3)
        #expect(defaults.value(forKey: "missing") == nil)
    }

    @Test("`setValue(_:forKey:)` sets and removes values")
    func setValue() {
        defaults.setValue([1, 2], forKey: "list")
        #expect(defaults.array(forKey: "list") as? [Int] == [1, 2])
        let page = URL(string: "http://example.com/")
        defaults.setValue(page, forKey: "page")
        #expect(defaults.url(forKey: "page") == page)
        defaults.setValue(nil, forKey: "list")
        defaults.setValue(nil as URL?, forKey: "page")
        #expect(defaults.values() == ["name": "Ada", "count": 3])
    }

    @Test("An instance is equal only to itself")
    func isEqual() {
        #expect(defaults.isEqual(defaults))
        #expect(defaults.isEqual(defaults as UserDefaults?))
        #expect(!defaults.isEqual(UserDefaults(inMemory: [:])))
        #expect(!defaults.isEqual(nil))
        #expect(!defaults.isEqual("name"))
    }

    @Test("An instance's description contains its domain's name")
    func description() {
        #expect(UserDefaults(suiteName: "org.example.suite")?.description == "<UserDefaults: org.example.suite>")
    }
}
