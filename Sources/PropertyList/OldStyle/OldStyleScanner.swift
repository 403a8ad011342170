/// A cursor over the UTF-8 of an old-style property list; it recognizes tokens, but not how they combine.
struct OldStyleScanner: ~Copyable {
    private let text: UnsafeBufferPointer<UInt8>

    /// The number of bytes before the cursor.
    var offset = 0

    private var scratch = MoveStack<UInt8>(minimumCapacity: 256)

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
    }

    var isAtEnd: Bool { offset == text.count }

    /// The byte at the cursor; `nil` at the end.
    var next: UInt8? { offset < text.count ? text[offset] : nil }

    private func peek(_ ahead: Int) -> UInt8? {
        ahead < text.count - offset ? text[offset + ahead] : nil
    }

    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    /// Skips whitespace, `// …` and `/* … */`.
    mutating func skipSpace() throws(ReadingFailure) {
        while let byte = next {
            if byte.isPropertyListWhitespace || byte == 0x0B || byte == 0x0C {
                offset += 1
            } else if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "/") {
                while let byte = next, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { offset += 1 }
            } else if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
                let position = offset
                offset += 2
                while !(next == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) {
                    guard next != nil else { throw failure("the end of the comment is missing", at: position) }
                    offset += 1
                }
                offset += 2
            } else if text[offset...].starts(with: "\u{2028}".utf8) || text[offset...].starts(with: "\u{2029}".utf8) {
                offset += 3
            } else {
                return
            }
        }
    }

    func failure(_ message: String, code: PropertyListError.Code = .syntax, at offset: Int? = nil) -> ReadingFailure {
        ReadingFailure(code: code, offset: offset ?? self.offset, message: message)
    }

    func expected(_ wanted: String) -> ReadingFailure {
        guard next != nil else { return failure("expected \(wanted), found the end of the text") }
        let rest = UnsafeBufferPointer(rebasing: text[offset..<min(offset + 4, text.count)])
        let scalar = String(decoding: rest, as: UTF8.self).unicodeScalars.first ?? " "
        return failure("expected \(wanted), found \"\(String(scalar).shown())\"")
    }

    // MARK: Strings

    /// Reads a quoted or an unquoted string; `nil` if there is none.
    mutating func string() throws(ReadingFailure) -> String? {
        guard let first = next else { return nil }
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") { return try quotedString(first) }
        let start = offset
        while let byte = next, Self.isUnquoted(byte) { offset += 1 }
        guard offset > start else { return nil }
        return String(decoding: text[start..<offset], as: UTF8.self)
    }

    /// Returns whether a byte may occur in an unquoted string, in which a slash doesn't begin a comment.
    static func isUnquoted(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "/"),
            UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private mutating func quotedString(_ quote: UInt8) throws(ReadingFailure) -> String {
        let position = offset
        offset += 1
        scratch.removeAll()
        var plain = offset
        while let byte = next {
            guard byte == quote || byte == UInt8(ascii: "\\") else {
                offset += 1
                continue
            }
            scratch.append(UnsafeBufferPointer(rebasing: text[plain..<offset]))
            offset += 1
            if byte == quote { return String(decoding: scratch.elements, as: UTF8.self) }
            scratch.append(try escape(at: offset - 1))
            plain = offset
        }
        throw failure("the closing quotation mark is missing", at: position)
    }

    /// Scans the characters after a backslash.
    private mutating func escape(at position: Int) throws(ReadingFailure) -> Unicode.Scalar {
        guard let byte = next else { throw failure("the closing quotation mark is missing", at: position) }
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "7"): return octal()
        case UInt8(ascii: "U"):
            offset += 1
            return try unicode(at: position)
        default: break
        }
        let rest = UnsafeBufferPointer(rebasing: text[offset..<min(offset + 4, text.count)])
        let scalar = String(decoding: rest, as: UTF8.self).unicodeScalars.first ?? "\\"
        offset += UTF8.width(scalar)
        switch scalar {
        case "a": return "\u{07}"
        case "b": return "\u{08}"
        case "f": return "\u{0C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "v": return "\u{0B}"
        default: return scalar
        }
    }

    /// Scans up to three octal digits and uses the low eight bits of their value.
    private mutating func octal() -> Unicode.Scalar {
        var value = 0
        for _ in 0..<3 {
            guard let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "7") else { break }
            value = value * 8 + Int(byte - UInt8(ascii: "0"))
            offset += 1
        }
        return NextStepEncoding.scalar(UInt8(truncatingIfNeeded: value))
    }

    /// Scans the digits of `\U00e9`, and a second escape if the first one is a lead surrogate.
    ///
    /// An escape without digits results in U+0000.
    private mutating func unicode(at position: Int) throws(ReadingFailure) -> Unicode.Scalar {
        let unit = unicodeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), next == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "U") else {
            throw failure("a surrogate has no partner", code: .invalidText, at: position)
        }
        offset += 2
        let second = unicodeUnit()
        guard UTF16.isTrailSurrogate(second) else {
            throw failure("a surrogate has no partner", code: .invalidText, at: position)
        }
        return Unicode.Scalar(leadSurrogate: unit, trailSurrogate: second)
    }

    private mutating func unicodeUnit() -> UInt16 {
        var value: UInt16 = 0
        var digits = 0
        while digits < 4, let digit = next?.hexadecimalValue {
            value = value << 4 | UInt16(digit)
            digits += 1
            offset += 1
        }
        return value
    }

    /// Skips a string; returns `false` if there is none.
    private mutating func skipString() throws(ReadingFailure) -> Bool {
        guard let first = next else { return false }
        let position = offset
        guard first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") else {
            while let byte = next, Self.isUnquoted(byte) { offset += 1 }
            return offset > position
        }
        offset += 1
        while let byte = next {
            offset += 1
            if byte == first { return true }
            if byte == UInt8(ascii: "\\"), next != nil { offset += 1 }
        }
        throw failure("the closing quotation mark is missing", at: position)
    }

    /// Skips a value with its contents; of a container's syntax, only the number of brackets is checked.
    mutating func skipValue() throws(ReadingFailure) {
        var depth = 0
        repeat {
            try skipSpace()
            switch next {
            case UInt8(ascii: "{"), UInt8(ascii: "("):
                depth += 1
                offset += 1
            case UInt8(ascii: "}") where depth > 0, UInt8(ascii: ")") where depth > 0:
                depth -= 1
                offset += 1
            case UInt8(ascii: "<"): _ = try passThrough(">", from: offset)
            case UInt8(ascii: "=") where depth > 0, UInt8(ascii: ";") where depth > 0,
                UInt8(ascii: ",") where depth > 0:
                offset += 1
            default:
                guard try skipString() else { throw expected("a value") }
            }
        } while depth > 0
    }

    // MARK: Data and typed values

    /// Reads `<…>`, starting at the `<`: hexadecimal data, or GNUstep's `<*I5>` and `<[base64]>`.
    mutating func angled() throws(ReadingFailure) -> PropertyListValue {
        let position = offset
        offset += 1
        if skip(UInt8(ascii: "*")) { return try typedValue(at: position) }
        if skip(UInt8(ascii: "[")) {
            let content = try passThrough("]", from: position)
            guard skip(UInt8(ascii: ">")) else { throw expected(">") }
            guard let bytes = Base64.decode(content) else { throw failure("the base64 is not valid", at: position) }
            return .data(bytes)
        }
        var bytes: [UInt8] = []
        while true {
            while let byte = next, byte.isPropertyListWhitespace { offset += 1 }
            if skip(UInt8(ascii: ">")) { return .data(bytes) }
            guard let high = next?.hexadecimalValue else { throw expected("hexadecimal digits or >") }
            guard let low = peek(1)?.hexadecimalValue else {
                throw failure("expected two hexadecimal digits per byte, found one")
            }
            bytes.append(high << 4 | low)
            offset += 2
        }
    }

    private mutating func passThrough(
        _ end: Unicode.Scalar, from position: Int
    ) throws(ReadingFailure) -> UnsafeBufferPointer<UInt8> {
        let start = offset
        while let byte = next {
            if byte == UInt8(ascii: end) {
                offset += 1
                return UnsafeBufferPointer(rebasing: text[start..<(offset - 1)])
            }
            offset += 1
        }
        throw failure("the closing \(end) is missing", at: position)
    }

    private mutating func typedValue(at position: Int) throws(ReadingFailure) -> PropertyListValue {
        let type = next
        if type != nil { offset += 1 }
        var content = try passThrough(">", from: position)
        let quote = UInt8(ascii: "\"")
        if content.count >= 2, content.first == quote, content.last == quote {
            content = UnsafeBufferPointer(rebasing: content[1..<(content.count - 1)])
        }
        switch type {
        case UInt8(ascii: "I"):
            switch NumberText.integer(content) {
            case .value(let value): return value
            case .malformed: throw failure("<*I…> does not contain a whole number", at: position)
            case .outOfRange: throw failure("the number does not fit in 64 bits", code: .numberOutOfRange, at: position)
            }
        case UInt8(ascii: "R"):
            if let number = NumberText.real(content) { return .real(number) }
            throw failure("<*R…> does not contain a number", at: position)
        case UInt8(ascii: "B"):
            if content.elementsEqual("Y".utf8) { return .boolean(true) }
            if content.elementsEqual("N".utf8) { return .boolean(false) }
            throw failure("<*B…> contains neither Y nor N", at: position)
        case UInt8(ascii: "D"):
            if let date = PropertyListDate(oldStyle: content) { return .date(date) }
            throw failure("<*D…> does not contain a valid date of the form 2001-01-01 00:00:00 +0000", at: position)
        default: throw failure("expected one of <*I…>, <*R…>, <*B…>, <*D…>", at: position)
        }
    }
}
