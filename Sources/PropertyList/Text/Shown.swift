extension StringProtocol {
    /// Returns the text in a form that an error message can quote: truncated, with control characters shown as numbers.
    ///
    /// Text from a file must not fill a log or control a terminal.
    func shown(limit: Int = 40) -> String {
        var text = ""
        for (count, scalar) in unicodeScalars.enumerated() {
            guard count < limit else { return text + "…" }
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069:
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// Returns the text with scalars other than printable ASCII shown as numbers, so that lookalike spellings differ.
    func spelt(limit: Int = 40) -> String {
        var text = ""
        for (count, scalar) in unicodeScalars.enumerated() {
            guard count < limit else { return text + "…" }
            if (0x20..<0x7F).contains(scalar.value) {
                text.unicodeScalars.append(scalar)
            } else {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return text
    }
}
