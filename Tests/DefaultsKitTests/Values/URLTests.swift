import Foundation
import PropertyList
import TestSupport
import Testing

@testable import DefaultsKit

@Suite("Stored URLs")
struct URLTests {
    private let home = HomeDirectory(path: "/home/ada/")

    @Test(
        "A file URL is stored as a path, with a tilde for the home directory",
        arguments: [
            ("file:///home/ada/a.txt", "~/a.txt"), ("file:///home/ada", "~"), ("file:///home/ada/", "~/"),
            ("file:///home/adam/a", "/home/adam/a"), ("file:///tmp/a%20b/%C3%A9", "/tmp/a b/é"),
            ("file:///tmp/d/", "/tmp/d/"),
            ("file:///", "/"), ("file:///tmp/~x", "/tmp/~x"), ("file:///tmp/100%25", "/tmp/100%"),
        ])
    func paths(text: String, path: String) throws {
        let url = try #require(URL(string: text))
        let value = try PropertyListValue.stored(url, home: home)
        #expect(value == .string(path))
        #expect(value.url(home: home) == url)
    }

    static let others = [
        "http://example.com/a?b", "https://ada@example.com:8080/x/?q=1#f", "mailto:ada@example.com", "urn:isbn:1",
        "relative/path?x", "file://host/share/x", "file:///a?x#y", "file:///a/b%2Fc", "http://%5B", "data:,x",
    ]

    @Test("A URL that isn't a plain path is stored as data that Foundation unarchives", arguments: others)
    func archives(text: String) throws {
        let url = try #require(URL(string: text))
        let value = try PropertyListValue(url: url)
        guard case .data(let bytes) = value else {
            Issue.record("\(text) is stored as \(value)")
            return
        }
        let foundation = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSURL.self, from: Data(bytes))
        #expect(foundation?.absoluteString == url.absoluteString)
        #expect(value.url() == url)
    }

    @Test(
        "A URL archived by Foundation is read", arguments: others,
        [PropertyListSerialization.PropertyListFormat.binary, .xml])
    func foundationArchives(text: String, format: PropertyListSerialization.PropertyListFormat) throws {
        let url = try #require(NSURL(string: text))
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.outputFormat = format
        archiver.encode(url, forKey: NSKeyedArchiveRootObjectKey)
        archiver.finishEncoding()
        let value = PropertyListValue.data([UInt8](archiver.encodedData))
        #expect(value.url()?.absoluteString == text)
    }

    @Test("A relative URL keeps its base in both directions")
    func relative() throws {
        let base = try #require(URL(string: "http://example.com/x/"))
        let url = try #require(URL(string: "a/b?c", relativeTo: base))
        guard case .data(let bytes) = try PropertyListValue(url: url) else {
            Issue.record("The URL wasn't stored as an archive.")
            return
        }
        let foundation = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSURL.self, from: Data(bytes))
        #expect(foundation?.relativeString == "a/b?c")
        #expect(foundation?.baseURL == base)

        let object = try #require(NSURL(string: "a/b?c", relativeTo: base))
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
        let read = try #require(PropertyListValue.data([UInt8](data)).url())
        #expect(read.relativeString == "a/b?c")
        #expect(read.baseURL == base)
    }

    @Test("A string is read as a path, or as a URL if it has a scheme")
    func strings() {
        #expect(PropertyListValue.string("~/x").url(home: home)?.path == "/home/ada/x")
        #expect(PropertyListValue.string("~").url(home: home)?.path == "/home/ada")
        #expect(PropertyListValue.string("~root/x").url(home: home)?.path == "/root/x")
        #expect(PropertyListValue.string("/a b%").url()?.path == "/a b%")
        #expect(PropertyListValue.string("http://example.com/a").url()?.absoluteString == "http://example.com/a")
        #expect(PropertyListValue.string("file:///a%20b").url()?.path == "/a b")
        let relative = PropertyListValue.string("x/y").url()
        #expect(relative?.isFileURL == true)
        #expect(relative?.path == FileManager.default.currentDirectoryPath + "/x/y")
    }

    static let broken: [PropertyListValue] = [
        1, true, 0.5, [], [:], .uid(1), "", "a\0b", "~nobody-of-this-name/x", .data([]), .data([1, 2, 3]),
        .data(Array("http://example.com".utf8)), .data(Array("bplist00".utf8)), .data(Array("<plist/>".utf8)),
        .data(Array("{ $archiver = NSKeyedArchiver; }".utf8)), .date(PropertyListDate(secondsSinceReferenceDate: 0)),
    ]

    @Test("A value of another kind is read as no URL", arguments: broken)
    func otherValues(value: PropertyListValue) {
        #expect(value.url() == nil)
    }

    private static let urlClass: PropertyListValue = ["$classname": "NSURL", "$classes": ["NSURL", "NSObject"]]

    private static func archive(_ objects: [PropertyListValue], root: PropertyListValue) -> PropertyListValue {
        ["$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": root], "$objects": .array(objects)]
    }

    private static let text: PropertyListValue = "http://example.com"

    static let hostile: [PropertyListValue] = [
        // A URL that is its own base, and two URLs that are each other's base.
        archive(
            ["$null", urlClass, text, ["$class": .uid(1), "NS.relative": .uid(2), "NS.base": .uid(3)]], root: .uid(3)),
        archive(
            [
                "$null", urlClass, text, ["$class": .uid(1), "NS.relative": .uid(2), "NS.base": .uid(4)],
                ["$class": .uid(1), "NS.relative": .uid(2), "NS.base": .uid(3)],
            ], root: .uid(3)),
        // Invalid object numbers.
        archive(["$null", urlClass, text], root: .uid(3)),
        archive(["$null", urlClass, text], root: .uid(.max)),
        archive(["$null", urlClass, text], root: ["CF$UID": -1]),
        archive(["$null", urlClass, text, ["$class": .uid(9), "NS.relative": .uid(2)]], root: .uid(3)),
        archive(["$null", urlClass, text, ["$class": .uid(1), "NS.relative": .uid(9)]], root: .uid(3)),
        archive(
            ["$null", urlClass, text, ["$class": .uid(1), "NS.relative": .uid(2), "NS.base": .uid(9)]], root: .uid(3)),
        // Objects of the wrong kind.
        archive(["$null", urlClass, 5, ["$class": .uid(1), "NS.relative": .uid(2)]], root: .uid(3)),
        archive(["$null", "NSURL", text, ["$class": .uid(1), "NS.relative": .uid(2)]], root: .uid(3)),
        archive(
            ["$null", ["$classname": "NSString"], text, ["$class": .uid(1), "NS.relative": .uid(2)]], root: .uid(3)),
        archive(["$null", urlClass, text, ["NS.relative": .uid(2)]], root: .uid(3)),
        archive(["$null", urlClass, text], root: .uid(2)),
        archive(["$null"], root: .uid(0)),
        archive([], root: 1),
        ["$archiver": "NSKeyedArchiver", "$top": [:], "$objects": []],
        ["$archiver": "NSKeyedArchiver", "$top": 1, "$objects": 2],
        ["$archiver": "Other", "$top": ["root": .uid(1)], "$objects": ["$null", text]],
        [],
    ]

    @Test("A hostile archive is read as no URL", arguments: hostile, [PropertyListFormat.binary, .xml])
    func hostileArchives(archive: PropertyListValue, format: PropertyListFormat) throws {
        let bytes = try archive.write(as: format)
        #expect(PropertyListValue.data(bytes).url() == nil)
    }

    @Test("An archive with changed bytes never causes a trap", arguments: 1...20)
    func mutations(seed: UInt64) throws {
        var random = PseudoRandom(seed: seed)
        let url = try #require(URL(string: "a/b", relativeTo: URL(string: "http://example.com/x/")))
        guard case .data(let original) = try PropertyListValue(url: url) else { return }
        for _ in 0..<300 {
            var bytes = original
            for _ in 0...random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            _ = PropertyListValue.data(bytes).url()
        }
    }
}
