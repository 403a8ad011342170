/// A supported encoding of text property lists.
enum TextEncoding: String {
    case utf8 = "UTF-8"
    case utf16LittleEndian = "UTF-16LE"
    case utf16BigEndian = "UTF-16BE"
    case ascii = "US-ASCII"
    case latin1 = "ISO-8859-1"

    /// Detects the encoding from the byte order mark, the zero bytes of UTF-16, and the XML declaration, in this order.
    ///
    /// - Returns: The encoding, and the length of the byte order mark.
    static func detect(
        _ bytes: UnsafeBufferPointer<UInt8>, format: PropertyListFormat
    ) throws(ReadingFailure) -> (encoding: TextEncoding, mark: Int) {
        func begins(with prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
        if let name = unsupportedName(bytes) {
            throw ReadingFailure(
                code: .unsupportedEncoding, offset: 0, message: "expected UTF-8 or UTF-16, found \(name)")
        }
        if begins(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
        if begins(with: [0xFF, 0xFE]) { return (.utf16LittleEndian, 2) }
        if begins(with: [0xFE, 0xFF]) { return (.utf16BigEndian, 2) }
        if bytes.count >= 2 {
            if bytes[0] == 0, bytes[1] != 0 { return (.utf16BigEndian, 0) }
            if bytes[0] != 0, bytes[1] == 0 { return (.utf16LittleEndian, 0) }
        }
        guard format == .xml, let (offset, name) = declaredName(in: bytes) else { return (.utf8, 0) }
        switch name.lowercased() {
        case "utf-8", "utf8": return (.utf8, 0)
        case "us-ascii", "ascii": return (.ascii, 0)
        case "iso-8859-1", "latin1", "iso_8859-1": return (.latin1, 0)
        case "utf-16", "utf-16le", "utf-16be":
            throw ReadingFailure(
                code: .unsupportedEncoding, offset: offset,
                message: "the document says it is in \(name.shown()), but its bytes are not")
        default:
            throw ReadingFailure(
                code: .unsupportedEncoding, offset: offset,
                message: "expected encoding UTF-8, UTF-16, US-ASCII or ISO-8859-1, found \(name.shown())")
        }
    }

    /// Returns the name of an unsupported encoding, recognized by its byte order mark or its first ASCII character.
    private static func unsupportedName(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        // In UTF-7, a byte order mark begins with "+/v", and "<" with "+ADw". No other property list begins that way.
        if bytes.starts(with: "+/v".utf8) || bytes.starts(with: "+ADw".utf8) { return "UTF-7" }
        guard bytes.count >= 4 else { return nil }
        switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0xFF, 0xFE, 0, 0), (0, 0, 0xFE, 0xFF), (1...0x7F, 0, 0, 0), (0, 0, 0, 1...0x7F): return "UTF-32"
        default: return nil
        }
    }

    /// Returns the encoding named by an XML declaration in ASCII-compatible bytes, and the name's offset.
    private static func declaredName(in bytes: UnsafeBufferPointer<UInt8>) -> (offset: Int, name: String)? {
        var start = 0
        while start < bytes.count, bytes[start].isPropertyListWhitespace { start += 1 }
        guard bytes[start...].starts(with: "<?xml".utf8) else { return nil }
        // A declaration is short: text that continues for a kilobyte isn't a declaration.
        let rest = bytes[start...].prefix(1024)
        guard let close = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let declaration = bytes[start..<close]
        let wanted = Array("encoding".utf8)
        var index = declaration.startIndex
        while index + wanted.count < declaration.endIndex {
            guard declaration[index...].starts(with: wanted) else {
                index += 1
                continue
            }
            index += wanted.count
            while index < declaration.endIndex, declaration[index].isPropertyListWhitespace { index += 1 }
            guard index < declaration.endIndex, declaration[index] == UInt8(ascii: "=") else { return nil }
            index += 1
            while index < declaration.endIndex, declaration[index].isPropertyListWhitespace { index += 1 }
            guard index < declaration.endIndex else { return nil }
            let quote = declaration[index]
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
            index += 1
            guard let end = declaration[index...].firstIndex(of: quote) else { return nil }
            return (index, String(decoding: declaration[index..<end], as: UTF8.self))
        }
        return nil
    }
}
