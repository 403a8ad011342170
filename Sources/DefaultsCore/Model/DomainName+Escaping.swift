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
                bytes += [UInt8(ascii: "%"), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
            } else {
                bytes.append(byte)
            }
        }
        guard bytes.count > maximumLength else { return String(decoding: bytes, as: UTF8.self) }
        let end = "%-\(ContentHash([UInt8](text.utf8)))"
        var count = maximumLength - end.utf8.count
        // Don't split a scalar.
        while count > 0, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return String(decoding: bytes[..<count], as: UTF8.self) + end
    }

    private static let digits = [UInt8]("0123456789ABCDEF".utf8)
}
