/// The number at the beginning of text, read by the rules of `NSString`'s `integerValue`, `doubleValue` and
/// `boolValue`.
///
/// Whitespace (including line breaks), a sign, and more whitespace may precede the digits. Anything after the number is
/// ignored, and text without a number gives 0 or false. Only ASCII digits count; hexadecimal numbers, infinities and
/// NaN aren't recognized. The rules are in `Scanner.swift` and `NSString.swift` in swift-corelibs-foundation; the tests
/// list the differences.
enum NumberPrefix {
    /// Returns the whole number, clamped to the range of `Int`: 12 for "12abc", 1 for "1e3", 0 for "0x10".
    static func integer(_ text: String) -> Int {
        let (isNegative, rest) = split(text)
        var number = 0
        for byte in rest {
            guard let digit = digit(byte) else { break }
            let product = number.multipliedReportingOverflow(by: 10)
            let sum =
                isNegative
                ? product.partialValue.subtractingReportingOverflow(digit)
                : product.partialValue.addingReportingOverflow(digit)
            if product.overflow || sum.overflow { return isNegative ? .min : .max }
            number = sum.partialValue
        }
        return number
    }

    /// Returns the real, rounded once, to the nearest value: 1000 for "1e3", 0.5 for ".5", 0 for "Infinity", infinity
    /// for "1e400".
    static func real<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ text: String) -> Number {
        let (isNegative, rest) = split(text)
        let whole = rest.prefix { digit($0) != nil }
        var end = whole.endIndex
        var hasDigits = !whole.isEmpty
        if end < rest.endIndex, rest[end] == UInt8(ascii: ".") {
            let fraction = rest[rest.index(after: end)...].prefix { digit($0) != nil }
            hasDigits = hasDigits || !fraction.isEmpty
            end = fraction.endIndex
        }
        guard hasDigits else { return 0 }
        if end < rest.endIndex, rest[end] | 0x20 == UInt8(ascii: "e") {
            var exponent = rest[rest.index(after: end)...]
            if exponent.first == UInt8(ascii: "+") || exponent.first == UInt8(ascii: "-") {
                exponent = exponent.dropFirst()
            }
            let digits = exponent.prefix { digit($0) != nil }
            if !digits.isEmpty { end = digits.endIndex }
        }
        let number = Number(String(decoding: rest[..<end], as: UTF8.self)) ?? 0
        return isNegative ? -number : number
    }

    /// Returns whether the text begins with one of `tTyY`, or with a whole number other than zero.
    static func isTrue(_ text: String) -> Bool {
        switch text.unicodeScalars.first(where: { !isSpace($0) }) {
        case "t", "T", "y", "Y": true
        default: integer(text) != 0
        }
    }

    private static func split(_ text: String) -> (isNegative: Bool, rest: Substring.UTF8View) {
        var rest = text.unicodeScalars.drop(while: isSpace)
        let sign = rest.first
        if sign == "+" || sign == "-" { rest = rest.dropFirst().drop(while: isSpace) }
        return (sign == "-", Substring(rest).utf8)
    }

    /// Returns whether a scalar is whitespace or the zero-width space, which Foundation counts as whitespace.
    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{200B}"
    }

    private static func digit(_ byte: UInt8) -> Int? {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? Int(byte - UInt8(ascii: "0")) : nil
    }
}
