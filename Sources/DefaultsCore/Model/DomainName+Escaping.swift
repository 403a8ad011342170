extension DomainName {
    /// Creates a domain name from any text, such as a generated name for a suite.
    ///
    /// A valid name stays as it is, except that all names of the global domain give the same one. In any other text,
    /// each "/", NUL, "%" and leading "." becomes "%" and two hexadecimal digits. A result that is too long is cut off
    /// and ends in "%-" and the text's hash. Empty text becomes "%", like the text "%" itself. Otherwise, different
    /// invalid texts get different names, and escaping an escaped name returns it unchanged.
    ///
    /// ```swift
    /// DomainName(escaping: "MyTests/FileTests.swift")  // MyTests%2FFileTests.swift
    /// ```
    ///
    /// - Parameters:
    ///   - text: The text to turn into a name.
    ///   - isReserved: Whether to escape the text even if it is a valid name, because that name has another meaning.
    package init(escaping text: String, isReserved: Bool = false) {
        if !isReserved, let name = try? DomainName(text) {
            self = name
        } else {
            self.init(unchecked: Self.escaped(text, isReserved: isReserved))
        }
    }

    /// Creates the name of the domain of a path of GSettings, such as `/org/gnome/desktop/interface/`.
    ///
    /// Each slash inside the path becomes a period. Each of `.`, `%`, `*`, `?` and `\\`, and the first character of a
    /// name of the global domain, becomes `%` and two hexadecimal digits. A result that is too long is cut off and ends
    /// in `%-` and the path's hash. The path `/` becomes `%`. Different paths get different names.
    ///
    /// The function `mapping_domain` of GSettings' backend does the same in C (see `Tests/GSettings/vectors.txt`).
    ///
    /// - Parameter path: The path; it fails unless that begins and ends with a slash.
    package init?(gsettingsPath path: String) {
        let slash = UInt8(ascii: "/")
        guard path.utf8.first == slash, path.utf8.last == slash, !path.utf8.contains(0) else { return nil }
        let inner = Array(path.utf8.dropFirst().dropLast())
        var bytes: [UInt8] = []
        for (index, byte) in inner.enumerated() {
            if byte == slash, index > 0 {
                bytes.append(UInt8(ascii: "."))
            } else if byte == slash || ".%*?\\".utf8.contains(byte) {
                bytes += Self.escape(byte)
            } else {
                bytes.append(byte)
            }
        }
        if let name = try? DomainName(String(decoding: bytes, as: UTF8.self)), name.isGlobal, let first = bytes.first {
            bytes.replaceSubrange(..<1, with: Self.escape(first))
        }
        self.init(unchecked: bytes.isEmpty ? "%" : Self.shortened(bytes, of: inner))
    }

    /// Escapes the characters that break a rule for names, so that the result is valid (see `EscapedNameTests`).
    private static func escaped(_ text: String, isReserved: Bool) -> String {
        if text.isEmpty { return "%" }
        var bytes: [UInt8] = []
        for (index, byte) in text.utf8.enumerated() {
            let isEscaped =
                switch byte {
                case 0, UInt8(ascii: "/"), UInt8(ascii: "%"): true
                case UInt8(ascii: "."): index == 0
                default: index == 0 && isReserved
                }
            if isEscaped {
                bytes += escape(byte)
            } else {
                bytes.append(byte)
            }
        }
        return shortened(bytes, of: [UInt8](text.utf8))
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Returns an escaped name, cut off if it is too long, with the hash of the text that it stands for.
    private static func shortened(_ bytes: [UInt8], of text: [UInt8]) -> String {
        guard bytes.count > maximumLength else { return String(decoding: bytes, as: UTF8.self) }
        let end = "%-\(ContentHash(text))"
        var count = maximumLength - end.utf8.count
        // Don't split a scalar.
        while count > 0, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return String(decoding: bytes[..<count], as: UTF8.self) + end
    }

    private static let digits = [UInt8]("0123456789ABCDEF".utf8)
}
