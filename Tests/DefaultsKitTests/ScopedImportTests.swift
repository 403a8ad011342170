import Foundation
import Testing

import class DefaultsKit.UserDefaults

/// This file imports nothing of the module but the class.
@Suite("A file that imports the class alone")
struct ScopedImportTests {
    @Test("uses it as it used Foundation's")
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
