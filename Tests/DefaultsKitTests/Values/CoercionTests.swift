import DefaultsKit
import Foundation
import PropertyList
import TestSupport
import Testing

@Suite("Coercion by the classic accessors")
struct CoercionTests {
    struct Row: CustomTestStringConvertible {
        let stored: PropertyListValue
        let string: String?
        let integer: Int
        let double: Double
        let bool: Bool
        var testDescription: String { "\(stored)" }

        init(_ stored: PropertyListValue, _ string: String?, _ integer: Int, _ double: Double, _ bool: Bool) {
            self.stored = stored
            self.string = string
            self.integer = integer
            self.double = double
            self.bool = bool
        }
    }

    static let rows: [Row] = [
        Row(true, "1", 1, 1, true),
        Row(false, "0", 0, 0, false),
        Row(42, "42", 42, 42, true),
        Row(0, "0", 0, 0, false),
        Row(.integer(.max), "9223372036854775807", .max, 0x1p63, true),
        Row(.integer(.min), "-9223372036854775808", .min, -9_223_372_036_854_775_808, true),
        Row(.unsigned(.max), "18446744073709551615", .max, 0x1p64, true),
        Row(12.34, "12.34", 12, 12.34, true),
        Row(-12.9, "-12.9", -12, -12.9, true),
        Row(1.0, "1", 1, 1, true),
        Row(0.5, "0.5", 0, 0.5, true),
        Row(0.1, "0.1", 0, 0.1, true),
        Row(1e300, "1e+300", .max, 1e300, true),
        Row(-1e300, "-1e+300", .min, -1e300, true),
        Row(.real(.nan), "nan", 0, .nan, true),
        Row(.real(-.infinity), "-inf", .min, -.infinity, true),
        Row(.real32(12.34), "12.34", 12, 12.34000015258789, true),
        Row("1234", "1234", 1234, 1234, true),
        Row("YES", "YES", 0, 0, true),
        Row("", "", 0, 0, false),
        Row(.date(PropertyListDate(secondsSinceReferenceDate: 1)), nil, 0, 0, false),
        Row(.data([1]), nil, 0, 0, false),
        Row([1], nil, 0, 0, false),
        Row(["a": 1], nil, 0, 0, false),
        Row(.uid(1), nil, 0, 0, false),
    ]

    @Test("A value is coerced as by Apple's accessors", arguments: rows)
    func table(_ row: Row) {
        #expect(row.stored.coercedString == row.string)
        #expect(row.stored.coercedInteger == row.integer)
        #expect(row.stored.coercedDouble == row.double || row.double.isNaN && row.stored.coercedDouble.isNaN)
        #expect(row.stored.coercedBool == row.bool)
        let float = row.stored.coercedFloat
        #expect(float == Float(row.double) || row.double.isNaN && float.isNaN)
    }

    @Test("A real's text reads back as the same number", arguments: 1...200)
    func shortestText(seed: UInt64) throws {
        var random = PseudoRandom(seed: seed)
        let number = Double(bitPattern: random.next())
        guard number.isFinite else { return }
        let text = try #require(PropertyListValue.real(number).coercedString)
        #expect(Double(text) == number)
        #expect(!text.hasSuffix(".0"))
        #expect(PropertyListValue.string(text).coercedDouble == number)
    }

    /// Texts that NSString and this library read alike.
    static let texts = [
        "", " ", "1", " 1", "\t1", "\u{A0}1", "\u{3000}1", "+ 1", "- 1", "+1", "-1", "--1", "+-1", "12abc", "1e3",
        "1E3",
        "1d3", "0x10", "99999999999999999999", "-99999999999999999999", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", ".5", "5.", "-.5", "1.5.5", "1.e2", ".", "-", "+", "e5", ".e5",
        "1e400", "-1e400", "1e-400", "1e99999999999999999999", "Infinity", "inf", "nan", "1,000", "1_000", "٣", "１２",
        "0.1",
        "0.30000000000000004", "123456789012345678901234567890", "1.7976931348623157e308", "4.9e-324", "3.4e39",
        "00012",
        "00", "-0", "tt", "T", "t", "y", "Y", "yes", "YES", "Yup", "true", "on", "off", "NO", "no", "false", " y",
        "\u{FEFF}1",
        "01", "0.5", "1e3x", "12 cm", "\u{200B}1", "-\u{200B} 1", "1\u{200B}2", "\u{2060}1", "\u{1680}1", "\u{180E}1",
    ]

    @Test("A number in a string is read as NSString reads it", arguments: texts)
    func oracle(text: String) {
        let foundation = NSString(string: text)
        let value = PropertyListValue.string(text)
        #expect(value.coercedInteger == foundation.integerValue)
        #expect(value.coercedDouble.bitPattern == foundation.doubleValue.bitPattern)
        #expect(value.coercedFloat.bitPattern == foundation.floatValue.bitPattern)
        #expect(value.coercedBool == foundation.boolValue)
    }

    @Test("Strings that corelibs' NSString reads inconsistently are read by Apple's rules")
    func differences() {
        // In corelibs, integerValue skips line breaks, but doubleValue doesn't.
        #expect(NSString("\n1").doubleValue == 0)
        #expect(PropertyListValue.string("\n1").coercedDouble == 1)
        // A number with an incomplete exponent is still a number, as for strtod.
        for text in ["1e", "1e+", "1e x"] {
            #expect(NSString(string: text).doubleValue == 0)
            #expect(PropertyListValue.string(text).coercedDouble == 1)
        }
        // The scanner of corelibs skips space between the zeros and the rest. integerValue returns 0 for this text.
        #expect(NSString("0 1").boolValue)
        #expect(!PropertyListValue.string("0 1").coercedBool)
        // In corelibs, a real without an Int is the smallest one. Here, it is the nearest Int, and 0 for NaN.
        let reals = [(Double.nan, 0), (.infinity, .max), (-.infinity, .min), (1e300, .max), (-1e300, .min)]
        for (number, integer) in reals as [(Double, Int)] {
            #expect(NSNumber(value: number).intValue == .min)
            #expect(PropertyListValue.real(number).coercedInteger == integer)
        }
        // In corelibs, an NSNumber of 0.5 is false. Here, any number except zero is true.
        #expect(PropertyListValue.real(0.5).coercedBool)
    }

    @Test("Generated strings are read as NSString reads them", arguments: 1...20)
    func generated(seed: UInt64) throws {
        var random = PseudoRandom(seed: seed)
        for _ in 0..<500 {
            let length = random.below(9)
            let text = String((0..<length).map { _ in random.pick(Array(" +-000123459..eEtTyYnx")) })
            let foundation = NSString(string: text)
            let value = PropertyListValue.string(text)
            #expect(value.coercedInteger == foundation.integerValue, "\(text.debugDescription)")
            // Skips the differences tested above.
            let hasNoExponent = try Regex("^ *[+-]? *[0-9.]+[eE][+-]?([^0-9]|$)")
            if text.firstMatch(of: hasNoExponent) == nil {
                #expect(value.coercedDouble == foundation.doubleValue, "\(text.debugDescription)")
                #expect(value.coercedFloat == foundation.floatValue, "\(text.debugDescription)")
            }
            let hasSpaceInside = try Regex("^ *[+-]? *0+ ")
            if text.firstMatch(of: hasSpaceInside) == nil {
                #expect(value.coercedBool == foundation.boolValue, "\(text.debugDescription)")
            }
        }
    }

    @Test("A text with a million digits is read without trouble")
    func longNumber() {
        let value = PropertyListValue.string(String(repeating: "9", count: 1_000_000))
        #expect(value.coercedInteger == .max)
        #expect(value.coercedDouble == .infinity)
        #expect(value.coercedBool)
    }

    @Test("An array of strings is returned only if all elements are strings")
    func stringArray() {
        #expect(PropertyListValue.array(["a", "b"]).coercedStringArray == ["a", "b"])
        #expect(PropertyListValue.array([]).coercedStringArray == [])
        #expect(PropertyListValue.array(["a", 1]).coercedStringArray == nil)
        #expect(PropertyListValue.string("a").coercedStringArray == nil)
    }
}
