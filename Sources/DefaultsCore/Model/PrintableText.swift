extension String {
    /// The text on one line, with JSON escapes for all characters that move a terminal's cursor or reorder text.
    package var printable: String {
        unicodeScalars.reduce(into: "") { $1.writePrintable(to: &$0) }
    }

    /// The text as one word of a shell's command line.
    package var quotedForShell: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || "._-/".utf8.contains($0)
            }
        return isPlain
            ? self : "'\(split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }
}

extension Unicode.Scalar {
    /// Appends the scalar to a text, escaped unless it is printable.
    package func writePrintable(to text: inout String) {
        switch self {
        case "\n": text += "\\n"
        case "\r": text += "\\r"
        case "\t": text += "\\t"
        // Control characters, line separators other than "\n" that some readers recognize, and characters that make a
        // terminal reorder text.
        case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}",
            "\u{200E}", "\u{200F}", "\u{061C}":
            let digits = String(value, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        default: text.unicodeScalars.append(self)
        }
    }
}
