extension BinaryInteger {
    /// Returns the number and what it counts.
    ///
    /// - Parameters:
    ///   - noun: A noun in the singular.
    ///   - plural: The plural, if it isn't the noun with an "s".
    /// - Returns: Such as "1 edit" or "2 edits".
    package func counting(_ noun: String, plural: String? = nil) -> String {
        "\(self) \(self == 1 ? noun : plural ?? "\(noun)s")"
    }
}

extension UInt64 {
    /// A number of bytes as text, in the largest suitable unit.
    var byteCount: String {
        for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")] as [(UInt64, String)]
        where self >= unit {
            return "\(self / unit) \(name)"
        }
        return "\(self) bytes"
    }
}

extension String {
    /// Returns the text with spaces up to a width in characters.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
