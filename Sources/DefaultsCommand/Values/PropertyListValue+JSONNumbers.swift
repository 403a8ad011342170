import Glibc
import PropertyList

extension PropertyListValue {
    /// Returns this value from JSON, in which each number that stands for the one at the same place of an old value is
    /// that number.
    ///
    /// Many programs hold every number of JSON as a `Double`, so they write 2.0 as 2, and 9007199254740993 as
    /// 9007199254740992. Such a number wasn't meant to be changed.
    func preservingNumbers(of old: PropertyListValue?) -> PropertyListValue {
        switch (self, old) {
        case (.array(let elements), .array(let olds)?):
            .array(elements.enumerated().map { $1.preservingNumbers(of: $0 < olds.count ? olds[$0] : nil) })
        case (.dictionary(let entries), .dictionary(let olds)?): .dictionary(entries.preservingNumbers(of: olds))
        case (let new, let old?): old.doubles.contains { new.isWritten(for: $0) } ? old : new
        case (let new, nil): new
        }
    }

    /// The numbers that programs may read from this one's JSON; none if this is no number.
    private var doubles: [Double] {
        switch self {
        case .integer(let number): [Double(number)]
        case .unsigned(let number): [Double(number)]
        case .real(let number): [number]
        // The JSON of a 32-bit real has only the digits that such a number needs.
        case .real32(let number): [Double(number), Double(number.description) ?? Double(number)]
        default: []
        }
    }

    /// Returns whether a program may write a `Double` to JSON as this number.
    ///
    /// An integer that only rounds to the same `Double` isn't written for it, and so is an edit.
    private func isWritten(for double: Double) -> Bool {
        switch self {
        case .integer(let number): Self.integers(for: double).contains("\(number)")
        case .unsigned(let number): Self.integers(for: double).contains("\(number)")
        case .real(let number): number == double && number.sign == double.sign
        default: false
        }
    }

    /// Returns the integers that programs write for a `Double`: its exact value, its shortest digits that read back,
    /// and its first 17 digits, each with zeros for the rest.
    private static func integers(for double: Double) -> [String] {
        let exact = Int64(exactly: double).map { "\($0)" } ?? UInt64(exactly: double).map { "\($0)" }
        var buffer = [CChar](repeating: 0, count: 64)
        _ = withVaList([double]) { vsnprintf(&buffer, buffer.count, "%.17g", $0) }
        let digits = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return [exact, integer(double.description), integer(digits)].compactMap(\.self)
    }

    /// Returns a number like "1.5e+3" without its exponent; `nil` if it isn't an integer.
    private static func integer(_ text: String) -> String? {
        let parts = text.split(separator: "e")
        guard let mantissa = parts.first, let exponent = parts.count > 1 ? Int(parts[1]) : 0 else { return nil }
        let digits = mantissa.split(separator: ".")
        let fraction = digits.count > 1 && digits[1] != "0" ? digits[1] : ""
        guard let whole = digits.first, exponent >= fraction.count, exponent < 20 else { return nil }
        return whole + fraction + String(repeating: "0", count: exponent - fraction.count)
    }
}

extension [String: PropertyListValue] {
    /// Returns these values from JSON with the numbers of old values, as for a single value.
    func preservingNumbers(of old: [String: PropertyListValue]) -> [String: PropertyListValue] {
        var values = self
        for (key, value) in self { values[key] = value.preservingNumbers(of: old[key]) }
        return values
    }
}
