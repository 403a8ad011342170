extension DomainName {
    /// Makes a domain name from any text, such as a name that a program generates for a suite.
    ///
    /// Valid names stay as they are; `.GlobalPreferences`, the name of the global domain's file, is the global domain.
    /// In other texts each "/", NUL, "%" and leading "." becomes "%" and two hexadecimal digits. A name that is too long
    /// is cut and ends in "%-" and the text's hash. The empty text is "%", the name that a "%" has, too. Otherwise different
    /// invalid texts get different names, and an escaped name names the same domain.
    ///
    /// ```swift
    /// DomainName(escaping: "MyTests/FileTests.swift")  // MyTests%2FFileTests.swift
    /// ```
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - isReserved: whether the text is escaped even if it can be a name, since it means something else.
    package init(escaping text: String, isReserved: Bool = false) {
        if text == ".GlobalPreferences" {
            self = .global
        } else if !isReserved, let name = try? DomainName(text) {
            self = name
        } else {
            self.init(unchecked: Self.escaped(text, isReserved: isReserved))
        }
    }

    /// Escapes what breaks a rule, so that the result breaks none (`EscapedNameTests`).
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
        // Not in the middle of a scalar.
        while count > 0, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return String(decoding: bytes[..<count], as: UTF8.self) + end
    }

    private static let digits = [UInt8]("0123456789ABCDEF".utf8)
}
