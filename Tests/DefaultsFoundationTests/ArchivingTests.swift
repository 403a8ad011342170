import DefaultsKit
import Foundation
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsFoundation

/// A class that is private to this file.
private final class Hidden: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true
    let number: Int
    init(_ number: Int) { self.number = number }
    func encode(with coder: NSCoder) { coder.encode(number, forKey: "number") }
    init?(coder: NSCoder) { number = coder.decodeInteger(forKey: "number") }
}

@Suite("Archiving", .timeLimit(.minutes(1)))
struct ArchivingTests {
    final class Nested: NSObject, NSSecureCoding {
        static let supportsSecureCoding = true
        fileprivate let hidden: Hidden?
        fileprivate init(_ hidden: Hidden) { self.hidden = hidden }
        func encode(with coder: NSCoder) { coder.encode(hidden, forKey: "hidden") }
        init?(coder: NSCoder) { hidden = coder.decodeObject(of: Hidden.self, forKey: "hidden") }
    }

    final class Generic<Value>: NSObject, NSSecureCoding {
        static var supportsSecureCoding: Bool { true }
        override init() {}
        func encode(with coder: NSCoder) {}
        init?(coder: NSCoder) {}
    }

    private let defaults = DefaultsKit.UserDefaults(inMemory: [:])

    /// Returns the objects of an archive, by number.
    private func objects(of object: NSObject) throws -> [PropertyListValue] {
        let archive = try PropertyListValue(parsing: try KeyedArchive(archiving: object).bytes)
        guard case .dictionary(let fields) = archive, case .array(let objects)? = fields["$objects"] else { return [] }
        #expect(fields["$top"] == ["root": .uid(1)])
        return objects
    }

    @Test("Objects of nested, private, local and generic classes are read back if their classes are requested")
    func classes() throws {
        final class Local: NSObject, NSSecureCoding {
            static let supportsSecureCoding = true
            override init() {}
            func encode(with coder: NSCoder) {}
            init?(coder: NSCoder) {}
        }
        defaults.set(archiving: Nested(Hidden(5)), forKey: "nested")
        #expect(defaults.unarchivedObject(of: Nested.self, forKey: "nested")?.hidden?.number == 5)
        defaults.set(archiving: Local(), forKey: "local")
        #expect(defaults.unarchivedObject(of: Local.self, forKey: "local") != nil)
        defaults.set(archiving: Generic<Int>(), forKey: "generic")
        #expect(defaults.unarchivedObject(of: Generic<Int>.self, forKey: "generic") != nil)
        #expect(defaults.unarchivedObject(of: Generic<String>.self, forKey: "generic") == nil)
        #expect(ArchivedClassName(Hidden.self).description == "DefaultsFoundationTests.Hidden")
        #expect(ArchivedClassName(Local.self).description == "DefaultsFoundationTests.ArchivingTests.Local")
        #expect(ArchivedClassName(NSMutableArray.self).description == "NSMutableArray")
    }

    @Test("An object that couldn't be read back is refused with a reason that names its class")
    func refusals() {
        for (value, reason) in Unarchivable.all {
            for object in [Box(value), (value as? Box) ?? Box([value])] {
                let failure = #expect(throws: ArchiveFailure.self) { try KeyedArchive(archiving: object) }
                #expect(failure?.description.contains(reason) == true, "\(failure?.description ?? "none")")
            }
        }
    }

    @Test("An object that can't be archived is reported, and nothing is set")
    func told() async {
        await #expect(processExitsWith: .success) {
            let problems = Mutex<[DefaultsProblem]>([])
            DefaultsKit.UserDefaults.setProblemHandler { problem in problems.withLock { $0.append(problem) } }
            let defaults = DefaultsKit.UserDefaults(inMemory: ["a": 1])
            for (value, _) in Unarchivable.all { defaults.set(archiving: Box(value), forKey: "a") }
            #expect(defaults.values() == ["a": 1])
            let told = problems.withLock(\.self)
            #expect(told.count == Unarchivable.all.count)
            #expect(told.first?.localizedDescription == told.first?.description)
            #expect(
                told.first?.description
                    == "Can't archive the object for \"a\": DefaultsFoundationTests.Unarchivable.Plain doesn't support "
                    + "secure coding; make it conform to NSSecureCoding. Nothing was set.")
        }
    }

    @Test("An archive keeps numbers and Booleans apart, and stores equal plain values and shared objects once")
    func sharing() throws {
        let shared = Box("text")
        let objects = try objects(of: NSArray(array: [1, true, 1.0, "text", "text", 1, shared, shared]))
        #expect(
            objects == [
                "$null",
                [
                    "NS.objects": [.uid(2), .uid(3), .uid(4), .uid(5), .uid(5), .uid(2), .uid(6), .uid(6)],
                    "$class": .uid(8),
                ],
                1, true, .real(1), "text", ["content": .uid(5), "$class": .uid(7)],
                [
                    "$classname": "DefaultsFoundationTests.Box",
                    "$classes": ["DefaultsFoundationTests.Box", "NSObject"],
                ],
                ["$classname": "NSArray", "$classes": ["NSArray", "NSObject"]],
            ])
        let box = Box(["flag": true, "count": 1] as [String: Any])
        defaults.set(archiving: box, forKey: "box")
        let content = defaults.unarchivedObject(of: Box.self, forKey: "box")?.content as? NSDictionary
        #expect(try content?.propertyListValue == ["flag": true, "count": 1])
    }

    @Test("An archive keeps the identity of a collection's elements, whether mutable or shared")
    func identity() throws {
        let text = NSMutableString(string: "a")
        let dictionary = NSDictionary(dictionary: ["k": text, "l": NSMutableArray()])
        let array = NSArray(array: [text, dictionary, NSSet(array: [text])])
        #expect(try objects(of: array).count { $0 == ["NS.string": "a", "$class": .uid(3)] } == 1)
        let read = try KeyedArchive(archiving: array)
            .object(of: [NSArray.self, NSDictionary.self, NSSet.self, NSMutableString.self])
        let elements = Mirror(reflecting: read).children.map(\.value)
        #expect(elements.first is NSMutableString)
        #expect(read == array)
        let circle = NSMutableArray()
        circle.add(["k": circle] as NSDictionary)
        let failure = #expect(throws: ArchiveFailure.self) { try KeyedArchive(archiving: circle) }
        #expect(failure?.description == "an object of NSMutableArray contains itself")
    }

    @Test("A conditional reference points to an object that is encoded elsewhere, and otherwise to null")
    func conditional() throws {
        let inner = Box("inner")
        let both = Box { _, coder in
            coder.encodeConditionalObject(inner, forKey: "maybe")
            coder.encode(inner, forKey: "content")
        }
        #expect(try objects(of: both).count { $0 == "inner" } == 1)
        guard case .dictionary(let fields) = try objects(of: both)[1] else { return }
        #expect(fields["maybe"] == fields["content"])
        let without = try objects(of: Box { _, coder in coder.encodeConditionalObject(inner, forKey: "maybe") })
        #expect(without[1] == ["maybe": .uid(0), "$class": .uid(2)])
    }

    @Test("A class's own keys are escaped, and nil is encoded as a null reference")
    func keys() throws {
        let objects = try objects(
            of: Box { _, coder in
                coder.encode(1, forKey: "$class")
                coder.encode(nil as NSString?, forKey: "nil")
                coder.encode(Float(0.5), forKey: "float")
                coder.encode(NSPoint(x: 1, y: 2), forKey: "point")
                coder.encodeBytes([7], length: 1, forKey: "bytes")
            })
        #expect(
            objects[1] == [
                "$$class": 1, "$class": .uid(3), "nil": .uid(0), "float": .real32(0.5), "bytes": .data([7]),
                "point": .uid(2),
            ])
    }

    @Test("Foundation's unarchiver reads an archive")
    func foundation() throws {
        let palette = Palette()
        let bytes = try KeyedArchive(archiving: palette).bytes
        let read = try NSKeyedUnarchiver.unarchivedObject(ofClass: Palette.self, from: Data(bytes))
        for (key, object) in palette.objects { #expect(read?.objects[key] == object, "\(key)") }
    }

    @Test("Python reads an archive as a keyed archive", .enabled(if: ForeignProcess.hasPython))
    func python() throws {
        let bytes = try KeyedArchive(archiving: Color(name: "sky", components: [0.5, 1])).bytes
        let script = """
            import plistlib, sys
            archive = plistlib.loads(bytes.fromhex(sys.argv[1]))
            print(sorted(archive), archive["$archiver"], archive["$version"], archive["$top"])
            for value in archive["$objects"]: print(sorted(value.items()) if isinstance(value, dict) else value)
            """
        let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(
            try ForeignProcess.run(python: script, [hex]) == """
                ['$archiver', '$objects', '$top', '$version'] NSKeyedArchiver 100000 {'root': UID(1)}
                $null
                [('$class', UID(7)), ('components', UID(3)), ('name', UID(2))]
                sky
                [('$class', UID(6)), ('NS.objects', [UID(4), UID(5)])]
                0.5
                1.0
                [('$classes', ['NSArray', 'NSObject']), ('$classname', 'NSArray')]
                [('$classes', ['DefaultsFoundationTests.Color', 'NSObject']), \
                ('$classname', 'DefaultsFoundationTests.Color')]

                """)
    }

    @Test("A collection is read back if the classes of its contents are named")
    func collections() {
        let (sky, sun) = (Color(name: "sky", components: [0.5]), Color(name: "sun", components: []))
        defaults.set(archiving: [sky, sun] as NSArray, forKey: "recentColors")
        let colors = defaults.unarchivedObject(ofClasses: [NSArray.self, Color.self], forKey: "recentColors")
        #expect(colors as? [Color] == [sky, sun])
        #expect(defaults.unarchivedObject(ofClasses: [NSArray.self], forKey: "recentColors") == nil)
        #expect(defaults.unarchivedObject(ofClasses: [], forKey: "recentColors") == nil)
    }
}
