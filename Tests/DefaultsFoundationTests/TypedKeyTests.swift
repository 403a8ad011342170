import DefaultsFoundation
import DefaultsKit
import Foundation
import PropertyList
import Testing

@Suite("Typed keys with Foundation's numbers")
struct TypedKeyTests {
    private let length = DefaultsKey<CGFloat>("length", default: 1)
    private let price = DefaultsKey<Decimal>("price", default: 0)

    @Test("A typed key stores a CGFloat as a real")
    func lengths() {
        let defaults = DefaultsKit.UserDefaults(inMemory: [:])
        #expect(defaults[length] == 1)
        defaults[length] = 12.5
        #expect(defaults.propertyListValue(forKey: "length") == .real(12.5))
        #expect(defaults[length] == 12.5)
        defaults.set("7.5", forKey: "length")
        #expect(defaults[length] == 7.5)
        defaults.set("wide", forKey: "length")
        #expect(defaults[length] == 1)
        defaults.set([CGFloat(0.5)], forKey: "lengths")
        #expect(defaults.propertyListValue(forKey: "lengths") == [.real(0.5)])
    }

    @Test("A typed key stores a Decimal without loss, as a number if possible")
    func decimals() throws {
        let digits = "12345678901234567890.123456789"
        let cases: [(String, PropertyListValue)] = [
            ("0", 0), ("5", 5), ("-5", -5), ("9223372036854775807", .integer(.max)),
            ("18446744073709551615", .unsigned(.max)), ("12.34", .real(12.34)), ("0.1", .real(0.1)),
            ("-0.001", .real(-0.001)), ("1e30", .real(1e30)), (digits, .string(digits)),
        ]
        let defaults = DefaultsKit.UserDefaults(inMemory: [:])
        for (text, expected) in cases {
            let decimal = try #require(Decimal(string: text))
            defaults[price] = decimal
            let value = defaults.propertyListValue(forKey: "price")
            #expect(value == expected, "\(text)")
            #expect(defaults[price] == decimal, "\(text)")
            defaults.set(NSDecimalNumber(decimal: decimal), forKey: "object")
            #expect(defaults.propertyListValue(forKey: "object") == expected, "\(text)")
        }
        defaults[price] = .greatestFiniteMagnitude
        #expect(defaults[price] == .greatestFiniteMagnitude)
        defaults[price] = .nan
        #expect(defaults[price].isNaN)
    }

    @Test("A Decimal is read only from a number, or from text that is a number as a whole")
    func decimalText() throws {
        let defaults = DefaultsKit.UserDefaults(inMemory: [:])
        let readings: [(PropertyListValue, String?)] = [
            (" 12.34 ", "12.34"), ("1e3", "1000"), ("12 cm", nil), ("", nil), ("0x10", nil), ("inf", nil),
            ("1e300", nil), (.real(.infinity), nil), (.real32(12.34), "12.34"), (true, "1"), ([1], nil),
        ]
        for (value, text) in readings {
            defaults.set(value, forKey: "price")
            let read = Decimal(propertyListValue: value)
            #expect(read == text.flatMap { Decimal(string: $0) }, "\(value)")
        }
    }
}
