import DefaultsCore
import DefaultsKit
import Foundation
import PropertyList
import Testing

@Suite("Values of type Any")
struct AnyTests {
    struct Foo: Sendable {}
    private enum Theme: String, DefaultsValue { case dark }

    private struct Tree: PropertyListConvertible {
        var propertyListValue: PropertyListValue? { ["leaf": 1] }
    }

    struct Refusal: Error, CustomStringConvertible {
        var description: String { "not today" }
    }

    struct Refusing: PropertyListConvertible {
        var propertyListValue: PropertyListValue? { get throws { throw Refusal() } }
    }

    private func convert(_ value: Any) throws -> PropertyListValue? {
        try PropertyListValue(any: value, forKey: "a")
    }

    @Test("A value of type Any is stored in its natural form")
    func conversions() throws {
        let date = Date(timeIntervalSinceReferenceDate: 0.25)
        let cases: [(Any, PropertyListValue)] = [
            ("text", "text"), ("text".dropFirst(), "ext"), (true, true), (5, 5), (Int.max, .integer(.max)),
            (Int8(-5), -5), (Int16(5), 5), (Int32(5), 5), (Int64.min, .integer(.min)), (UInt8(5), 5), (UInt16(5), 5),
            (UInt32(5), 5), (UInt(5), 5), (UInt64.max, .unsigned(.max)), (UInt.max, .unsigned(.max)), (0.5, 0.5),
            (Float(12.34), .real32(12.34)), (Data([1, 2]), .data([1, 2])),
            (date, .date(PropertyListDate(secondsSinceReferenceDate: 0.25))), (["a", "b"], ["a", "b"]),
            ([1, 2], [1, 2]),
            ([1, "a", true] as [Any], [1, "a", true]), ([1, 2, 3][1...], [2, 3]), (ContiguousArray([1]), [1]),
            (["a": 1, "b": ["c": [true]]] as [String: Any], ["a": 1, "b": ["c": [true]]]), (["a": 1], ["a": 1]),
            (["a": 1] as [AnyHashable: Any], ["a": 1]), (PropertyListValue.uid(7), .uid(7)),
            ([PropertyListValue.string("x")], ["x"]), (Theme.dark, "dark"), ([Theme.dark], ["dark"]),
            ([Tree()], [["leaf": 1]]), ([] as [Any], []), ([:] as [String: Any], [:]),
        ]
        for (value, expected) in cases {
            let converted = try convert(value)
            #expect(converted == expected, "\(value)")
        }
    }

    @Test("Optionals are unwrapped at any depth")
    func optionals() throws {
        let some: Int? = 5
        let deep: Int??? = 5
        let none: Int? = nil
        let deepNone: Int??? = .some(.some(.none))
        #expect(try convert(some as Any) == 5)
        #expect(try convert(deep as Any) == 5)
        #expect(try convert(none as Any) == nil)
        #expect(try convert(deepNone as Any) == nil)
        #expect(try convert(Any?.some(none as Any) as Any) == nil)
        #expect(try convert([1, 2] as [Int?]) == [1, 2])
        #expect(try convert(["a": 1, "b": nil] as [String: Int?]) == ["a": 1])
        #expect(try convert(["a": ["b": none as Any]] as [String: Any]) == ["a": [:]])
    }

    static let refused: [(any Sendable, String)] = [
        (Foo(), "\"a\" is a Foo, which no property list can hold."),
        ([1, 2, Foo()] as [any Sendable], "\"a[2]\" is a Foo, which no property list can hold."),
        (["b": [1, 2, Foo()] as [any Sendable]], "\"a.b[2]\" is a Foo, which no property list can hold."),
        ([1, nil] as [Int?], "\"a[1]\" is nil, which no array in a property list can hold; leave it out."),
        (
            ["b": [1: "x"]],
            "\"a.b\" is a Dictionary<Int, String>; in a property list the keys of a dictionary are strings."
        ),
        ([Refusing()], "\"a[0]\" is a Refusing, which can't be made a property list: not today."),
        (Int128.max, "\"a\" is a Int128, which no property list can hold."),
        (Set(["x"] as [Character]), "\"a\" is a Set<Character>, which no property list can hold."),
    ]

    @Test("A value that a property list can't hold is rejected with its path and type", arguments: refused.indices)
    func refusals(index: Int) {
        let (value, sentence) = Self.refused[index]
        let error = #expect(throws: DefaultsError.self) { try convert(value) }
        #expect(error?.code == .invalidValue)
        #expect(error?.description == sentence)
    }

    @Test("Values that Foundation could bridge are rejected, not converted by guesswork")
    func bridging() {
        // An NSObject without a conformance is rejected rather than converted by guesswork. DefaultsFoundation, which
        // is linked into the test process, makes some classes conform, such as NSNumber, which would otherwise arrive
        // as a Bool or an Int.
        let object = NSObject()
        let values: [Any] = [object, [object], ["k": object], NSArray(array: [object]), NSSet(), NSOrderedSet()]
        for value in values { #expect(throws: DefaultsError.self, "\(value)") { try convert(value) } }
    }

    @Test("A value that is nested too deeply is rejected, regardless of the stack size")
    func depth() {
        var value: Any = 1
        for _ in 0..<100_000 { value = [value] }
        let error = #expect(throws: DefaultsError.self) { try convert(value) }
        #expect(error?.description.hasSuffix("is nested deeper than a property list may be.") == true)
        // Releasing the nested arrays would recurse too deeply, so this unwraps them one by one.
        while let outer = value as? [Any], let inner = outer.first { value = inner }
    }

    @Test("A property list value is returned as a native Swift value")
    func anyValue() throws {
        #expect(PropertyListValue.string("a").anyValue as? String == "a")
        #expect(type(of: PropertyListValue.integer(.max).anyValue) == Int.self)
        #expect(PropertyListValue.integer(.max).anyValue as? Int == .max)
        #expect(PropertyListValue.unsigned(.max).anyValue as? UInt64 == .max)
        #expect(type(of: PropertyListValue.real32(12.34).anyValue) == Float.self)
        #expect(PropertyListValue.real(0.5).anyValue as? Double == 0.5)
        #expect(type(of: PropertyListValue.boolean(true).anyValue) == Bool.self)
        let date = PropertyListValue.date(PropertyListDate(secondsSinceReferenceDate: 0.25)).anyValue as? Date
        #expect(date?.timeIntervalSinceReferenceDate == 0.25)
        #expect(PropertyListValue.data([1]).anyValue as? Data == Data([1]))
        let array = try #require(PropertyListValue.array([1, "a"]).anyValue as? [Any])
        #expect(type(of: array[0]) == Int.self)
        let dictionary = try #require(PropertyListValue.dictionary(["a": [1]]).anyValue as? [String: Any])
        #expect(dictionary["a"] as? [Int] == [1])
    }

    @Test("A property list value survives conversion to Any and back, including UIDs")
    func roundTrip() throws {
        let value: PropertyListValue = [
            "s": "text", "i": .integer(.max), "u": .unsigned(.max), "r": 0.1, "f": .real32(12.34), "b": true,
            "d": .date(PropertyListDate(secondsSinceReferenceDate: -0.125)), "x": .data([0, 255]),
            "a": [.uid(3), ["k": []]],
        ]
        #expect(try convert(value.anyValue) == value)
    }
}
