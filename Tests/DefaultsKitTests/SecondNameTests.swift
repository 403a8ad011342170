import DefaultsKit
import Foundation
import Testing

/// This file imports both modules, each with a class `UserDefaults`.
@Suite("The second name of the class")
struct SecondNameTests {
    @Test("A file that imports Foundation as well uses the class by its second name")
    func use() {
        let defaults = Defaults(inMemory: ["size": 1])
        defaults[DefaultsKey("size", default: 0)] += 1
        #expect(defaults.integer(forKey: "size") == 2)
        #expect(Defaults.standard == DefaultsKit.UserDefaults.standard)
    }
}
