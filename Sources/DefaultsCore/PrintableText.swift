extension String {
    /// The text on one line, in which nothing can move a terminal's cursor or show text in another order: such characters
    /// are written as in JSON.
    package var printable: String {
        unicodeScalars.reduce(into: "") { $1.writePrintable(to: &$0) }
    }
}

extension Unicode.Scalar {
    /// Writes the scalar at the end of a text, as it is in a printable one.
    package func writePrintable(to text: inout String) {
        switch self {
        case "\n": text += "\\n"
        case "\r": text += "\\r"
        case "\t": text += "\\t"
        // Control characters, the line ends that some readers of lines know besides "\n", and what has a terminal show text
        // in another order.
        case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}",
            "\u{200E}", "\u{200F}", "\u{061C}":
            let digits = String(value, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        default: text.unicodeScalars.append(self)
        }
    }
}
