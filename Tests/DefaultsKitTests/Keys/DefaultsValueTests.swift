import DefaultsKit
import Foundation
import PropertyList
import Testing

@Suite("Types of keys' values")
struct DefaultsValueTests {
    enum Theme: String, DefaultsValue, CodingKeyRepresentable { case light, dark }
    enum Level: Int, Codable, DefaultsValue { case low = 1, high }
    struct Window: Codable, Hashable, DefaultsValue { var x = 0, title: String?, ratio = 0.5 }
    struct Flags: OptionSet, DefaultsValue { let rawValue: Int }

    /// Checks that a value is stored as expected and reads back.
    private func roundTrip<Value: DefaultsValue & Equatable>(
        _ value: Value, _ stored: PropertyListValue?, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let written = try value.propertyListValue
        #expect(written == stored, sourceLocation: sourceLocation)
        guard let written else { return }
        #expect(Value(propertyListValue: written) == value, sourceLocation: sourceLocation)
    }

    @Test("A value is stored in its natural form and reads back")
    func roundTrips() throws {
        try roundTrip(true, true)
        try roundTrip(Int.max, .integer(.max))
        try roundTrip(Int8.min, -128)
        try roundTrip(UInt64.max, .unsigned(.max))
        try roundTrip(UInt.max, .unsigned(.max))
        try roundTrip(Float(12.34), .real32(12.34))
        try roundTrip(0.1, 0.1)
        try roundTrip("é", "é")
        try roundTrip("xé".dropFirst(), "é")
        try roundTrip(Data([1]), .data([1]))
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000.123456)
        try roundTrip(date, .date(PropertyListDate(secondsSinceReferenceDate: 700_000_000.123456)))
        try roundTrip(URL(filePath: "/a b", directoryHint: .notDirectory), "/a b")
        let uuid = try #require(UUID(uuidString: "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"))
        try roundTrip(uuid, "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        try roundTrip(PropertyListValue.uid(5), .uid(5))
        try roundTrip([1, 2], [1, 2])
        try roundTrip([["a"], []], [["a"], []])
        try roundTrip(["a": [1]], ["a": [1]])
        try roundTrip([1: "a"], ["1": "a"])
        try roundTrip([Theme.dark: 1], ["dark": 1])
        try roundTrip(Set(["b", "a"]), ["a", "b"])
        try roundTrip(Theme.dark, "dark")
        try roundTrip([Theme.dark], ["dark"])
        try roundTrip(Level.high, 2)
        try roundTrip(Flags(rawValue: 3), 3)
        try roundTrip(Window(x: 1, title: "a"), ["x": 1, "title": "a", "ratio": 0.5])
        try roundTrip(Window(), ["x": 0, "ratio": 0.5])
    }

    @Test("A nil value is removed, left out of a dictionary, and kept in its place in an array")
    func optionals() throws {
        try roundTrip(Int?.none, nil)
        try roundTrip(Int??.some(.none), nil)
        try roundTrip(Int?.some(5), 5)
        try roundTrip([1, nil, 3] as [Int?], [1, "$null", 3])
        try roundTrip([nil, "a"] as [String?], ["$null", "a"])
        let entries: [String: Int?] = ["a": 1, "b": nil]
        #expect(try entries.propertyListValue == ["a": 1])
        #expect(Int?(propertyListValue: "abc") == nil)
    }

    @Test("A 32-bit real keeps its value in a format with only one width")
    func floatInXML() {
        let stored = PropertyListValue.real32(12.34).asStored(in: .xml)
        #expect(Float(propertyListValue: stored) == 12.34)
    }

    @Test("Equal sets are stored as equal arrays")
    func sets() throws {
        let first = try Set(0..<100).propertyListValue
        let second = try Set((0..<100).reversed()).propertyListValue
        #expect(first == second)
        #expect(Set<Int>(propertyListValue: [1, 1, 2]) == [1, 2])
    }

    @Test("A value is read from a string as stored by the `defaults` command")
    func strings() {
        #expect(Int(propertyListValue: "5") == 5)
        #expect(Int(propertyListValue: " -5\n") == -5)
        #expect(Int(propertyListValue: "abc") == nil)
        #expect(Int(propertyListValue: "5 cm") == nil)
        #expect(Int(propertyListValue: "") == nil)
        #expect(Int(propertyListValue: "99999999999999999999") == nil)
        #expect(UInt8(propertyListValue: "256") == nil)
        #expect(Double(propertyListValue: "1e3") == 1000)
        #expect(Double(propertyListValue: "0x10") == nil)
        #expect(Double(propertyListValue: "1.5.5") == nil)
        #expect(Float(propertyListValue: "12.34") == 12.34)
        for text in ["YES", "yes", "true", "Y", "t", "1", "-1", "0.5", " yes "] {
            #expect(Bool(propertyListValue: .string(text)) == true, "\(text)")
        }
        for text in ["NO", "no", "false", "n", "F", "0", "0.0"] {
            #expect(Bool(propertyListValue: .string(text)) == false, "\(text)")
        }
        for text in ["", "yup", "on", "1 2"] { #expect(Bool(propertyListValue: .string(text)) == nil, "\(text)") }
        #expect(Level(propertyListValue: "2") == .high)
        #expect([Int](propertyListValue: ["1", 2]) == [1, 2])
        #expect(Window(propertyListValue: ["x": "7", "ratio": "0.25"]) == Window(x: 7, ratio: 0.25))
    }

    @Test("A number is read as another numeric type if it fits")
    func numbers() {
        #expect(Int(propertyListValue: 5.0) == 5)
        #expect(Int(propertyListValue: 5.5) == nil)
        #expect(Int(propertyListValue: .real(.nan)) == nil)
        #expect(Int(propertyListValue: .real(1e300)) == nil)
        #expect(Int(propertyListValue: .unsigned(.max)) == nil)
        #expect(UInt(propertyListValue: -1) == nil)
        #expect(Int8(propertyListValue: 128) == nil)
        #expect(Int(propertyListValue: true) == 1)
        #expect(Double(propertyListValue: 5) == 5)
        #expect(Double(propertyListValue: .real32(12.34)) == 12.34000015258789)
        #expect(Float(propertyListValue: 1e300) == nil)
        #expect(Float(propertyListValue: .real(.infinity)) == .infinity)
        #expect(Bool(propertyListValue: 2) == true)
        #expect(String(propertyListValue: 42) == "42")
        #expect(String(propertyListValue: 1.0) == "1")
    }

    @Test("A value isn't read from an incompatible type")
    func others() {
        #expect(String(propertyListValue: .data([1])) == nil)
        #expect(Int(propertyListValue: []) == nil)
        #expect(Bool(propertyListValue: [:]) == nil)
        #expect(Data(propertyListValue: "a") == nil)
        #expect(Date(propertyListValue: 5) == nil)
        #expect(UUID(propertyListValue: "x") == nil)
        #expect(URL(propertyListValue: 5) == nil)
        #expect([Int](propertyListValue: [1, "x"]) == nil)
        #expect([String: Int](propertyListValue: ["a": "x"]) == nil)
        #expect([Int: String](propertyListValue: ["x": "a"]) == nil)
        #expect(Theme(propertyListValue: "blue") == nil)
        #expect(Window(propertyListValue: ["x": "abc", "ratio": 1]) == nil)
        #expect(Window(propertyListValue: 5) == nil)
    }
}
