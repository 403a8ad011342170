/// The textual form of numbers in property lists.
enum NumberText {
    /// The result of parsing a whole number.
    enum Integer {
        case value(PropertyListValue)
        case malformed
        case outOfRange
    }

    /// Parses a whole number as Foundation does.
    ///
    /// The text is an optional sign, with whitespace allowed before and after it, followed by decimal digits or by `0x`
    /// and hexadecimal digits. Nothing may follow the digits.
    static func integer(_ text: UnsafeBufferPointer<UInt8>) -> Integer {
        var index = 0
        func skipWhitespace() {
            while index < text.count, text[index].isPropertyListWhitespace { index += 1 }
        }
        skipWhitespace()
        var isNegative = false
        if index < text.count, text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+") {
            isNegative = text[index] == UInt8(ascii: "-")
            index += 1
            skipWhitespace()
        }
        var radix: UInt64 = 10
        if index + 1 < text.count, text[index] == UInt8(ascii: "0"), text[index + 1] | 0x20 == UInt8(ascii: "x") {
            radix = 16
            index += 2
        }
        guard index < text.count else { return .malformed }
        var magnitude: UInt64 = 0
        var overflows = false
        while index < text.count {
            guard let digit = text[index].hexadecimalValue, digit < radix else { return .malformed }
            let product = magnitude.multipliedReportingOverflow(by: radix)
            let sum = product.partialValue.addingReportingOverflow(UInt64(digit))
            overflows = overflows || product.overflow || sum.overflow
            magnitude = sum.partialValue
            index += 1
        }
        if overflows { return .outOfRange }
        guard isNegative else { return .value(.number(magnitude)) }
        guard magnitude <= Int64.min.magnitude else { return .outOfRange }
        return .value(.integer(Int64(truncatingIfNeeded: 0 &- magnitude)))
    }

    /// Parses a real as Foundation does: `1`, `-1.5e3`, `nan`, `inf`, `+infinity`, after optional whitespace.
    static func real(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        let start = text.firstIndex { !$0.isPropertyListWhitespace } ?? text.endIndex
        let number = text[start...]
        guard !number.isEmpty, number.count <= 1024 else { return nil }
        var hasDigit = false
        let isPlain = number.allSatisfy { byte in
            if byte.isDecimalDigit { hasDigit = true }
            return byte.isDecimalDigit || byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
        }
        let string = String(decoding: number, as: UTF8.self)
        guard !isPlain else { return hasDigit ? Double(string) : nil }
        switch string.lowercased() {
        case "nan": return .nan
        case "inf", "+inf", "infinity", "+infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        default: return nil
        }
    }

    /// Returns the shortest text that reads back as the number, laid out like C's `%.17g`: `1`, `0.1`, `1e+21`, `inf`.
    static func text(_ number: Double) -> String {
        // Swift prints a NaN's sign and payload, which no text format can represent.
        number.isNaN ? "nan" : layout(number.description)
    }

    /// Returns the shortest text that reads back as the number.
    static func text(_ number: Float) -> String {
        // Swift prints a NaN's sign and payload, which no text format can represent.
        number.isNaN ? "nan" : layout(number.description)
    }

    /// Converts Swift's `1.0`, `1e-05` and `1.5e+16` to the layout of `%.17g` for the same digits.
    private static func layout(_ swift: String) -> String {
        // If Swift writes no exponent, C doesn't either.
        let (isPlain, isWhole) = swift.withBytes { text in
            guard let last = text.last, last.isDecimalDigit else { return (true, false) }
            let isWhole = last == UInt8(ascii: "0") && text.count > 2 && text[text.count - 2] == UInt8(ascii: ".")
            return (!text.contains(UInt8(ascii: "e")), isWhole)
        }
        if isPlain { return isWhole ? String(swift.dropLast(2)) : swift }
        var digits: [UInt8] = []
        var point: Int?
        var exponent = 0
        var isNegative = false
        var rest = Substring(swift)
        if rest.first == "-" {
            isNegative = true
            rest = rest.dropFirst()
        }
        if let mark = rest.firstIndex(of: "e") {
            exponent = Int(rest[rest.index(after: mark)...]) ?? 0
            rest = rest[..<mark]
        }
        for byte in rest.utf8 {
            if byte == UInt8(ascii: ".") { point = digits.count } else { digits.append(byte) }
        }
        // Now the number is 0.digits × 10^magnitude. Remove the zeros at both ends.
        var magnitude = (point ?? digits.count) + exponent
        let leading = digits.prefix { $0 == UInt8(ascii: "0") }.count
        digits.removeFirst(leading)
        magnitude -= leading
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        let sign = isNegative ? "-" : ""
        guard !digits.isEmpty else { return sign + "0" }
        let text = String(decoding: digits, as: UTF8.self)
        let scientific = magnitude - 1
        if scientific < -4 || scientific >= 17 {
            let fraction = text.dropFirst()
            let size = String(abs(scientific))
            return sign + text.prefix(1) + (fraction.isEmpty ? "" : "." + fraction) + (scientific < 0 ? "e-" : "e+")
                + (size.utf8.count < 2 ? "0" + size : size)
        }
        if magnitude <= 0 { return sign + "0." + String(repeating: "0", count: -magnitude) + text }
        if magnitude >= digits.count { return sign + text + String(repeating: "0", count: magnitude - digits.count) }
        return sign + text.prefix(magnitude) + "." + text.dropFirst(magnitude)
    }
}
