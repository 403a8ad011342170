import Foundation
import Testing

import class DefaultsKit.UserDefaults

/// This file imports only the class from the module.
@Suite("Importing only the class")
struct ScopedImportTests {
    @Test("Code that imports only the class works as with Foundation's class")
    func use() {
        let defaults = UserDefaults(inMemory: [:])
        defaults.register(defaults: ["size": 1])
        defaults.set(nil, forKey: "none")
        defaults.set(URL(fileURLWithPath: "/tmp/x"), forKey: "url")
        defaults.set([1, 2], forKey: "list")
        #expect(defaults.integer(forKey: "size") == 1)
        #expect(defaults.url(forKey: "url")?.path == "/tmp/x")
        #expect(defaults.array(forKey: "list") as? [Int] == [1, 2])
        #expect(UserDefaults.standard == UserDefaults.standard)
    }
}
