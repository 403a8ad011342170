#if Portal
import PropertyList

/// The types that a rule can give a setting, by their signatures in D-Bus.
enum PortalType: String, CaseIterable, Sendable {
    case boolean = "b"
    case signed = "i"
    case unsigned = "u"
    case long = "x"
    case double = "d"
    case string = "s"
    case strings = "as"
    case color = "(ddd)"
}

/// A value of a setting, in the types of D-Bus.
enum PortalValue: Equatable, Sendable {
    case boolean(Bool)
    case signed(Int32)
    case unsigned(UInt32)
    case long(Int64)
    case double(Double)
    case string(String)
    case strings([String])
    /// Red, green and blue in the sRGB color space, each from 0 to 1; other numbers stand for no color.
    case color([Double])
    case bytes([UInt8])
    /// Values of any types.
    case array([PortalValue])
    case dictionary([String: PortalValue])

    /// Creates the value of a setting that has no rule, for a program that knows the preference.
    ///
    /// Dates are strings as in ISO 8601. Fails if a value is or has a UID, which only keyed archives have, a date
    /// outside the years 0 to 9999, text that can't be sent, or more than `levels` levels: D-Bus ends connections for
    /// more than 64, of which a dictionary in a dictionary takes three.
    init?(_ value: PropertyListValue, levels: Int = 16) {
        if levels == 0 { return nil }
        switch value {
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let number): self = .long(number)
        case .unsigned(let number): self = .double(Double(number))
        case .real(let number): self = .double(number)
        case .real32(let number): self = .double(Double(number))
        case .string(let text):
            guard text.isSendable else { return nil }
            self = .string(text)
        case .data(let bytes): self = .bytes(bytes)
        case .date(let date):
            guard date.isInCalendar else { return nil }
            self = .string("\(date)")
        case .array(let elements):
            let values = elements.compactMap { PortalValue($0, levels: levels - 1) }
            guard values.count == elements.count else { return nil }
            self = .array(values)
        case .dictionary(let entries):
            let values = entries.compactMapValues { PortalValue($0, levels: levels - 1) }
            guard values.count == entries.count, entries.keys.allSatisfy(\.isSendable) else { return nil }
            self = .dictionary(values)
        case .uid: return nil
        }
    }

    /// About as many bytes as the value has on D-Bus.
    var size: Int {
        switch self {
        case .boolean, .signed, .unsigned, .long, .double, .color: 24
        case .string(let text): text.utf8.count + 8
        case .strings(let texts): texts.reduce(8) { $0 + $1.utf8.count + 8 }
        case .bytes(let bytes): bytes.count + 8
        case .array(let values): values.reduce(8) { $0 + $1.size + 8 }
        case .dictionary(let entries): entries.reduce(8) { $0 + $1.key.utf8.count + $1.value.size + 24 }
        }
    }

    /// Creates a value of a given type; fails if the preference can't be one.
    ///
    /// A string may stand for a number, since `defaults write` without a type writes strings.
    init?(_ value: PropertyListValue, as type: PortalType) {
        let number = value.portalNumber
        switch type {
        case .boolean:
            guard let number else { return nil }
            self = .boolean(number != 0)
        case .signed:
            guard let number, let exact = Int32(exactly: number) else { return nil }
            self = .signed(exact)
        case .unsigned:
            guard let number, let exact = UInt32(exactly: number) else { return nil }
            self = .unsigned(exact)
        case .long:
            if case .integer(let exact) = value {
                self = .long(exact)
            } else {
                guard let number, let exact = Int64(exactly: number) else { return nil }
                self = .long(exact)
            }
        case .double:
            guard let number else { return nil }
            self = .double(number)
        case .string:
            guard case .string(let text) = value, text.isSendable else { return nil }
            self = .string(text)
        case .strings:
            guard case .array(let elements) = value else { return nil }
            let texts = elements.compactMap(\.portalTexts.first)
            guard texts.count == elements.count, texts.allSatisfy(\.isSendable) else { return nil }
            self = .strings(texts)
        case .color:
            // An array of numbers, or text as in AppleHighlightColor: "0.6 0.8 1.0 Blue".
            var parts: [Double?] = []
            if case .array(let elements) = value { parts = elements.map(\.portalNumber) }
            if case .string(let text) = value { parts = text.split(separator: " ").prefix(3).map { Double($0) } }
            let numbers = parts.compactMap(\.self)
            let isColor = numbers.allSatisfy { (0...1).contains($0) } || numbers == [-1, -1, -1]
            guard parts.count == 3, numbers.count == 3, isColor else { return nil }
            self = .color(numbers)
        }
    }
}

extension PropertyListValue {
    /// The number that the value is or, as a string or a Boolean, stands for.
    var portalNumber: Double? {
        switch self {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .real(let number): number
        case .real32(let number): Double(number)
        case .string(let text): Double(text) ?? ["YES": 1, "NO": 0][text]
        default: nil
        }
    }

    /// The texts by which a rule may name the value, the usual one first; none for data, dates and collections.
    var portalTexts: [String] {
        switch self {
        case .string(let text): [text]
        case .boolean(let flag): flag ? ["1", "YES"] : ["0", "NO"]
        case .integer(let number): ["\(number)"]
        case .unsigned(let number): ["\(number)"]
        case .real(let number): ["\(number)"]
        case .real32(let number): ["\(number)"]
        default: []
        }
    }
}

extension PortalValue {
    /// Returns whether two values have the same bytes: NaN is NaN, and "é" in one scalar isn't "é" in two.
    static func == (first: PortalValue, second: PortalValue) -> Bool {
        switch (first, second) {
        case (.boolean(let first), .boolean(let second)): first == second
        case (.signed(let first), .signed(let second)): first == second
        case (.unsigned(let first), .unsigned(let second)): first == second
        case (.long(let first), .long(let second)): first == second
        case (.double(let first), .double(let second)): first.bitPattern == second.bitPattern
        case (.string(let first), .string(let second)): first.utf8.elementsEqual(second.utf8)
        case (.strings(let first), .strings(let second)):
            first.elementsEqual(second) { $0.utf8.elementsEqual($1.utf8) }
        case (.color(let first), .color(let second)): first.map(\.bitPattern) == second.map(\.bitPattern)
        case (.bytes(let first), .bytes(let second)): first == second
        case (.array(let first), .array(let second)): first == second
        case (.dictionary(let first), .dictionary(let second)): first == second
        default: false
        }
    }
}

extension String {
    /// Whether sd-bus sends the text: D-Bus allows no NUL, and sd-bus no noncharacters.
    var isSendable: Bool {
        unicodeScalars.allSatisfy { scalar in
            scalar.value != 0 && scalar.value & 0xFFFE != 0xFFFE && !(0xFDD0...0xFDEF).contains(scalar.value)
        }
    }
}
#endif
