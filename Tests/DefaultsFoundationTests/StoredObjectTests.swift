import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import PropertyList
import TestSupport
import Testing

@testable import DefaultsFoundation

extension DefaultsKit.UserDefaults {
    fileprivate func setColor(_ color: Color?, forKey key: String) { set(archiving: color, forKey: key) }
    fileprivate func color(forKey key: String) -> Color? { unarchivedObject(of: Color.self, forKey: key) }
}

/// The objects of an invalid archive, without the first (null) and the classes, and the reason why it is refused.
private let unsound: [(objects: [PropertyListValue], reason: String)] = [
    ([["$class": .uid(200), "NS.objects": [.uid(1)]]], "an object contains itself"),
    ([["$class": .uid(200), "NS.objects": [.uid(999)]]], "a reference is invalid"),
    ([["$class": .uid(200), "NS.objects": [.uid(0)]]], "has a missing element"),
    ([["$class": .uid(200), "NS.objects": 5]], "is not a list"),
    ([["$class": .uid(201), "NS.objects": []]], "NSSet is not one of the requested classes"),
    ([["$class": .uid(202)]], "this program has no class"),
    ([["NS.objects": []]], "an object has no class"),
    ((2..<90).map { ["$class": .uid(200), "NS.objects": [.uid($0), .uid($0)]] }, "too large"),
    ((2..<199).map { ["$class": .uid(200), "NS.objects": [.uid($0)]] }, "too deep"),
]

@Suite("Stored objects")
struct StoredObjectTests {
    private struct ColorValue: Codable, Equatable, DefaultsValue {
        var name: String
        var components: [Double]
    }

    private let defaults = DefaultsKit.UserDefaults(inMemory: [:])
    private let color = Color(name: "sky", components: [0.25, 0.5, 1])

    @Test("An object is archived and read back")
    func roundTrip() {
        defaults.setColor(color, forKey: "color")
        #expect(defaults.data(forKey: "color") != nil)
        #expect(defaults.color(forKey: "color") == color)
        defaults.setColor(nil, forKey: "color")
        #expect(defaults.object(forKey: "color") == nil)
        #expect(defaults.color(forKey: "color") == nil)
    }

    @Test("An object's archive is the same every time, so that it doesn't seem changed")
    func sameData() {
        defaults.setColor(color, forKey: "color")
        let data = defaults.data(forKey: "color")
        for _ in 0..<100 {
            defaults.setColor(color, forKey: "color")
            #expect(defaults.data(forKey: "color") == data)
        }
    }

    @Test("A Codable value is stored as a native tree")
    func codable() {
        let value = ColorValue(name: "sky", components: [0.25, 0.5, 1])
        let key = DefaultsKey<ColorValue>("color", default: ColorValue(name: "", components: []))
        defaults[key] = value
        #expect(defaults[key] == value)
        #expect(defaults.dictionary(forKey: "color")?["name"] as? String == "sky")
    }

    @Test("An archive of another class, or a value that isn't an archive, reads as nil")
    func wrong() throws {
        defaults.set(archiving: NSString(string: "sky"), forKey: "color")
        #expect(defaults.color(forKey: "color") == nil)
        defaults.set(5, forKey: "color")
        #expect(defaults.color(forKey: "color") == nil)
        for archive: PropertyListValue in [
            [:], ["$archiver": "NSKeyedArchiver", "$version": 100_000, "$objects": [], "$top": ["root": .uid(1)]],
            [
                "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": .uid(1)],
                "$objects": ["$null", .dictionary(["$class": .uid(2), "a": .uid(1)]), ["$classname": "NoClass"]],
            ],
        ] {
            defaults.set(Data(try archive.write(as: .binary)), forKey: "color")
            #expect(defaults.color(forKey: "color") == nil)
        }
    }

    @Test("A stored object keeps all of its contents")
    func contents() {
        let palette = Palette()
        defaults.set(archiving: palette, forKey: "palette")
        let objects = defaults.unarchivedObject(of: Palette.self, forKey: "palette")?.objects
        for (key, object) in palette.objects { #expect(objects?[key] == object, "\(key)") }
    }

    @Test("A stored object of an old class is read back as the class that it is mapped to")
    func mapped() async {
        await #expect(processExitsWith: .success) {
            NSKeyedUnarchiver.setClass(MacColor.self, forClassName: "NSColor")
            let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/Fixtures/MacColor.plist"
            let values = try Self.dictionary(in: source)
            let defaults = DefaultsKit.UserDefaults(inMemory: values)
            let color = try #require(defaults.unarchivedObject(of: MacColor.self, forKey: "color"))
            #expect(color.components == [0.1, 0.2, 0.3])
        }
    }

    @Test("An object of an unsupported Foundation class reads as nil, and the reason names the class")
    func refused() throws {
        let components = NSDateComponents()
        components.year = 1
        let calendar = try #require(NSCalendar(identifier: .gregorian))
        let objects: [any NSObject & NSSecureCoding] = [
            calendar, components,
            NSIndexPath(indexes: [1, 2], length: 2),
            NSAttributedString(string: "a"), NSMeasurement(doubleValue: 1, unit: UnitLength.meters),
            NSIndexSet(index: 1), NSCharacterSet(charactersIn: "a"), NSDateInterval(),
        ]
        for object in objects { try expectRefusal(of: object) }
    }

    private func expectRefusal<Object: NSObject & NSSecureCoding>(of object: Object) throws {
        #expect(throws: ArchiveFailure.self) { try KeyedArchive(archiving: object) }
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        let failure = #expect(throws: ArchiveFailure.self) { try KeyedArchive([UInt8](data)).object(of: [Object.self]) }
        let expected = "the Foundation class \(NSStringFromClass(Object.self)) isn't supported"
        #expect(failure?.description.contains(expected) == true, "\(failure?.description ?? "none")")
    }

    @Test("An invalid archive reads as nil", arguments: unsound)
    func refusedArchive(_ objects: [PropertyListValue], _ reason: String) throws {
        var all: [PropertyListValue] = ["$null"] + objects
        while all.count < 200 { all.append(["$class": .uid(200), "NS.objects": []]) }
        for name in ["NSArray", "NSSet", "\u{1}NSArray"] {
            all.append(["$classname": .string(name), "$classes": [.string(name), "NSObject"]])
        }
        let value: PropertyListValue = [
            "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": .uid(1)], "$objects": .array(all),
        ]
        let bytes = try value.write(as: .binary)
        let failure = #expect(throws: ArchiveFailure.self) { try KeyedArchive(bytes).object(of: [NSArray.self]) }
        #expect(failure?.description.contains(reason) == true, "\(failure?.description ?? "none")")
        defaults.set(Data(bytes), forKey: "bad")
        #expect(defaults.unarchivedObject(of: NSArray.self, forKey: "bad") == nil)
    }

    @Test("A class that requests missing values, or values of another type, doesn't crash the process")
    func greedy() async {
        await #expect(processExitsWith: .success) {
            var number = 0
            try Tampering.tryAll(of: Greedy()) { defaults in
                number += 1
                _ = Greedy.$call.withValue(number % Greedy.numberOfCalls) {
                    defaults.unarchivedObject(of: Greedy.self, forKey: "tampered")
                }
            }
        }
    }

    @Test("An archive that was tampered with in any one place doesn't crash the process")
    func hostile() async {
        await #expect(processExitsWith: .success) {
            try Tampering.tryAll(of: Color(name: "sky", components: [0.25, 0.5])) { defaults in
                _ = defaults.unarchivedObject(of: Color.self, forKey: "tampered")
            }
        }
    }

    @Test("An archive with all supported classes that was tampered with doesn't crash the process")
    func hostileDeep() async {
        await #expect(processExitsWith: .success) {
            try Tampering.tryAll(of: Palette()) { defaults in
                _ = defaults.unarchivedObject(of: Palette.self, forKey: "tampered")
            }
        }
    }

    @Test("An archive that was tampered with in two places, or in its bytes, doesn't crash the process")
    func hostileTwice() async {
        await #expect(processExitsWith: .success) {
            try Tampering.tryAtRandom(of: Palette(), 500, seed: 20_261_121) { defaults in
                _ = defaults.unarchivedObject(of: Palette.self, forKey: "tampered")
            }
        }
    }

    @Test("A Mac's archive survives edits of other keys, and reads as nil if its class is unknown")
    func fromMac() throws {
        try withTemporaryDirectory { path in
            let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/Fixtures/MacColor.plist"
            let file = path + "/org.example.mac.plist"
            try RawFile.replace(file, with: try RawFile.read(source))
            let before = try Self.dictionary(in: source)
            let environment = Environment(["DEFAULTS_DIRECTORY": path, "XDG_RUNTIME_DIR": path])
            let client = Client(.success(try Location(environment: environment)))
            defer { client.close() }
            let suite = DefaultsKit.UserDefaults(suiteName: "org.example.mac", in: client)
            let defaults = try #require(suite)
            defaults.set(13, forKey: "size")
            defaults.set(defaults.object(forKey: "tree"), forKey: "copy")
            try defaults.save()
            let after = try Self.dictionary(in: file)
            #expect(after["size"] == 13)
            #expect(after["color"] == before["color"])
            #expect(after["tree"] == before["tree"])
            #expect(after["copy"] == before["tree"])
            #expect(defaults.color(forKey: "color") == nil)
        }
    }

    private static func dictionary(in path: String) throws -> [String: PropertyListValue] {
        guard case .dictionary(let values) = try PropertyListValue(parsing: RawFile.read(path)) else {
            throw TestSystemError("no dictionary in \(path)")
        }
        return values
    }
}
