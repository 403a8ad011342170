import DefaultsFoundation
import DefaultsKit
import PropertyList
import TestSupport
import Testing

import class Foundation.Bundle
import struct Foundation.URL

@Suite("Factory defaults")
struct FactoryDefaultsTests {
    private let defaults = UserDefaults(inMemory: ["size": 20])

    /// Registers the values of a file with the given contents, or of a missing file.
    private func register(_ contents: [UInt8]?) throws -> [String: PropertyListValue] {
        try withTemporaryDirectory { directory in
            let path = directory + "/FactoryDefaults.plist"
            if let contents { try RawFile.replace(path, with: contents) }
            return try defaults.registerDefaults(contentsOf: path)
        }
    }

    private func problem(with contents: [UInt8]?) throws -> DefaultsProblem {
        try #require(throws: DefaultsProblem.self) { try register(contents) }
    }

    @Test("Factory defaults are registered from a file of any format, and returned")
    func file() throws {
        let values: [String: PropertyListValue] = ["size": 12, "name": "new"]
        for format in [PropertyListFormat.xml, .binary] {
            let read = try register(try PropertyListValue.dictionary(values).write(as: format))
            #expect(read == values)
        }
        let read = try register(Array("{ name = old; }".utf8))
        #expect(read == ["name": "old"])
        #expect(defaults.integer(forKey: "size") == 20)
        #expect(defaults.string(forKey: "name") == "old")
    }

    @Test("Factory defaults are registered from a bundle's resource")
    func resource() throws {
        try withTemporaryDirectory { directory in
            try RawFile.replace(directory + "/FactoryDefaults.plist", with: Array("{ name = new; }".utf8))
            let bundle = try #require(Bundle(path: directory))
            try defaults.registerDefaults(fromResource: "FactoryDefaults", in: bundle)
            #expect(defaults.string(forKey: "name") == "new")
            let problem = try #require(throws: DefaultsProblem.self) {
                try defaults.registerDefaults(fromResource: "Missing", in: bundle)
            }
            #expect(problem.description.contains("\"Missing.plist\" is not a resource of the bundle"))
        }
    }

    @Test("A file that can't be registered is a problem that names the file, the place and the remedy")
    func problems() throws {
        let missing = try problem(with: nil)
        #expect(
            missing.description.hasSuffix(
                "/FactoryDefaults.plist\" does not exist. Install it with the program, or correct the path."))
        let array = try problem(with: Array("(1, 2)".utf8))
        #expect(array.description.contains("does not contain a dictionary"))
        let damaged = try problem(with: Array("<?xml version=\"1.0\"?>\n<plist><dict><key>a</dict></plist>".utf8))
        #expect(damaged.description.contains("line 2"))
        #expect(damaged.code == .file)
        let text = try problem(with: Array("Dear reader,\n".utf8))
        #expect(text.description.contains("is not a valid property list. "))
        #expect(text.description.contains("line 1"))
        #expect(text.localizedDescription == text.description)
        let directory = try #require(throws: DefaultsProblem.self) { try defaults.registerDefaults(contentsOf: "/tmp") }
        #expect(directory.description.hasSuffix("\"/tmp\" is a directory. Use the path of a property-list file in it."))
        #expect(defaults.object(forKey: "a") == nil)
    }
}
