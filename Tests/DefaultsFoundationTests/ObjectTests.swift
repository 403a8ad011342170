import DefaultsCore
import DefaultsFoundation
import DefaultsKit
import Foundation
import PropertyList
import Testing

@Suite("Storing Foundation objects")
struct ObjectTests {
    /// Returns the stored form of a value.
    private func stored(_ value: Any) throws -> PropertyListValue? {
        try PropertyListValue(any: value, forKey: "a")
    }

    @Test("A number object keeps its kind")
    func numbers() throws {
        let cases: [(NSNumber, PropertyListValue)] = [
            (NSNumber(value: true), true), (NSNumber(value: false), false), (true as NSNumber, true),
            (NSNumber(value: 0), 0), (NSNumber(value: 1), 1), (NSNumber(value: Int8(1)), 1),
            (NSNumber(value: Int8(100)), 100), (NSNumber(value: Int8.min), -128), (NSNumber(value: UInt8.max), 255),
            (NSNumber(value: Int16.min), -32_768), (NSNumber(value: UInt16.max), 65_535),
            (NSNumber(value: Int32.min), .integer(Int64(Int32.min))),
            (NSNumber(value: UInt32.max), .integer(Int64(UInt32.max))),
            (NSNumber(value: Int.min), .integer(.min)), (NSNumber(value: Int.max), .integer(.max)),
            (NSNumber(value: UInt64(Int64.max)), .integer(.max)),
            (NSNumber(value: UInt64(1) << 63), .unsigned(1 << 63)), (NSNumber(value: UInt64.max), .unsigned(.max)),
            (NSNumber(value: UInt.max), .unsigned(.max)),
            (NSNumber(value: Float(0)), .real32(0)), (NSNumber(value: Float(1)), .real32(1)),
            (NSNumber(value: Float(12.34)), .real32(12.34)),
            (NSNumber(value: Float.greatestFiniteMagnitude), .real32(.greatestFiniteMagnitude)),
            // Foundation keeps no width for infinite numbers.
            (NSNumber(value: Float.infinity), .real(.infinity)),
            (NSNumber(value: 0.0), .real(0)), (NSNumber(value: 1.0), .real(1)), (NSNumber(value: 12.34), .real(12.34)),
            (NSNumber(value: -0.0), .real(-0.0)), (NSNumber(value: CGFloat(0.5)), .real(0.5)),
        ]
        for (number, expected) in cases {
            let value = try stored(number)
            #expect(value == expected, "\(number), \(String(cString: number.objCType))")
        }
        guard case .real(let nan) = try stored(NSNumber(value: Double.nan)) else {
            Issue.record("NaN is not a real.")
            return
        }
        #expect(nan.isNaN)
    }

    @Test("A number object that Foundation has parsed keeps its kind")
    func readNumbers() throws {
        let json = try JSONSerialization.jsonObject(with: Data("[true,1,0,1.5,-7,18446744073709551615]".utf8))
        #expect(try stored(json) == [true, 1, 0, 1.5, -7, .unsigned(.max)])
        let xml = "<plist><array><true/><integer>1</integer><real>1</real><integer>-5</integer></array></plist>"
        let list = try PropertyListSerialization.propertyList(from: Data(xml.utf8), format: nil)
        #expect(try stored(list) == [true, 1, .real(1), -5])
    }

    @Test("A string, data, date or URL object is stored as its native counterpart is")
    func scalars() throws {
        let date = Date(timeIntervalSinceReferenceDate: 0.25)
        let identifier = UUID()
        let web = try #require(URL(string: "https://example.org/a?b"))
        let cases: [(Any, Any)] = [
            (NSString(string: "grüße 👋"), "grüße 👋"), (NSMutableString(string: "m"), "m"), (NSString(), ""),
            (NSData(data: Data([1, 2])), Data([1, 2])), (NSMutableData(data: Data([3])), Data([3])),
            (date as NSDate, date), (web as NSURL, web),
            (
                NSURL(fileURLWithPath: "/missing/x", isDirectory: false),
                URL(filePath: "/missing/x", directoryHint: .notDirectory)
            ), (NSUUID(uuidString: identifier.uuidString) as Any, identifier),
        ]
        for (object, native) in cases {
            let (value, expected) = (try stored(object), try stored(native))
            #expect(value != nil)
            #expect(value == expected, "\(object)")
        }
    }

    @Test("Objects are accepted at any depth, in native collections and in Foundation's")
    func depth() throws {
        let array = NSArray(array: [NSNumber(value: true), 1, "a", NSString(string: "b"), [NSNumber(value: Float(2))]])
        let expected: PropertyListValue = [true, 1, "a", "b", [.real32(2)]]
        #expect(try stored(array) == expected)
        #expect(try stored([array]) == [expected])
        #expect(try stored(NSMutableArray(array: [array])) == [expected])
        #expect(try stored(NSDictionary(dictionary: ["k": array])) == ["k": expected])
        #expect(try stored(["k": NSMutableDictionary(dictionary: ["l": NSNumber(value: 0)])]) == ["k": ["l": 0]])
        #expect(try stored([NSNumber(value: 1), NSNumber(value: false)]) == [1, false])
        #expect(try stored(["k": NSNumber(value: 1)] as [NSString: NSNumber] as NSDictionary) == ["k": 1])
        #expect(try stored(NSNumber?.some(5) as Any) == 5)
        // Directly as well.
        #expect(try array.propertyListValue == expected)
        #expect(try NSDictionary(dictionary: ["k": array]).propertyListValue == ["k": expected])
    }

    @Test("A null object is no value")
    func null() throws {
        #expect(try stored(NSNull()) == nil)
        #expect(try stored(NSDictionary(dictionary: ["a": NSNull(), "b": 1])) == ["b": 1])
        #expect(try stored(["a": NSNull(), "b": 1] as [String: Any]) == ["b": 1])
        let error = #expect(throws: DefaultsError.self) { try stored(NSArray(array: [1, NSNull()])) }
        #expect(error?.description == "\"a[1]\" is nil, which no array in a property list can hold; leave it out.")
        let defaults = DefaultsKit.UserDefaults(inMemory: ["a": 1])
        defaults.set(NSNull(), forKey: "a")
        #expect(defaults.object(forKey: "a") == nil)
    }

    @Test("An object that no property list can hold is refused with its path and type")
    func refusals() {
        let nested = NSDictionary(dictionary: ["b": NSArray(array: [1, NSObject()])])
        let error = #expect(throws: DefaultsError.self) { try stored(nested) }
        #expect(error?.description == "\"a.b[1]\" is a NSObject, which no property list can hold.")
        let numbered = NSDictionary(object: 1, forKey: NSNumber(value: 1))
        let keys = #expect(throws: DefaultsError.self) { try stored(numbered) }
        #expect(
            keys?.description
                == "\"a\" is a NSDictionary; in a property list the keys of a dictionary are strings.")
        #expect(throws: DefaultsError.self) { try stored(NSSet(array: [1])) }
        #expect(throws: DefaultsError.self) { try stored(NSObject()) }
    }

    @Test("An object that is nested too deeply is refused")
    func tooDeep() {
        var value: NSObject = NSNumber(value: 1)
        for level in 0..<2_000 {
            value = level % 2 == 0 ? NSArray(array: [value]) : NSDictionary(dictionary: ["k": value])
        }
        let error = #expect(throws: DefaultsError.self) { try stored(value) }
        #expect(error?.description.hasSuffix("is nested deeper than a property list may be.") == true)
    }

    @Test("An object is read back as a native value, and a cast makes it an object again")
    func bridging() throws {
        let defaults = DefaultsKit.UserDefaults(inMemory: [:])
        defaults.set(
            NSDictionary(dictionary: [
                "s": NSString(string: "x"), "b": NSNumber(value: true), "i": NSNumber(value: 5),
                "r": NSNumber(value: 0.5), "f": NSNumber(value: Float(0.5)), "d": NSData(data: Data([1])),
                "a": NSArray(array: [NSNumber(value: 1)]), "t": NSDate(timeIntervalSinceReferenceDate: 0.5),
                "u": NSNumber(value: UInt64.max),
            ]), forKey: "all")
        let all = try #require(defaults.dictionary(forKey: "all"))
        let types = all.mapValues { "\(type(of: $0))" }
        #expect(
            types == [
                "s": "String", "b": "Bool", "i": "Int", "r": "Double", "f": "Float", "d": "Data", "a": "Array<Any>",
                "t": "Date", "u": "UInt64",
            ])
        #expect(all["s"] as? NSString == "x")
        #expect(all["i"] as? NSNumber == 5)
        #expect(all["u"] as? NSNumber == NSNumber(value: UInt64.max))
        #expect(all["d"] as? NSData == NSData(data: Data([1])))
        #expect(all["t"] as? NSDate == NSDate(timeIntervalSinceReferenceDate: 0.5))
        #expect(all["a"] as? NSArray == NSArray(array: [1]))
        #expect(defaults.object(forKey: "all") as? NSDictionary != nil)
        // A cast number is stored again as the same kind.
        for key in ["b", "i", "r", "f", "u"] {
            let number = try #require(all[key] as? NSNumber)
            let (again, before) = (try stored(number), defaults.values()["all"])
            guard case .dictionary(let values)? = before else { continue }
            #expect(again == values[key], "\(key)")
        }
    }
}
