/// A cursor over the UTF-8 of an XML document; it recognizes markup, names and text, but not their meaning.
struct XMLScanner: ~Copyable {
    private let start: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    private var cursor: UnsafePointer<UInt8>

    /// A buffer for text that differs from the document's bytes because of references, CDATA sections or comments.
    private var scratch = MoveStack<UInt8>(minimumCapacity: 256)

    init(_ text: UnsafeBufferPointer<UInt8>) {
        // An empty document has no address. Any address will do, because nothing is read from it.
        let base = text.baseAddress ?? ("" as StaticString).utf8Start
        start = base
        end = base + text.count
        cursor = base
    }

    // MARK: Position

    /// The number of bytes before the cursor.
    var offset: Int {
        get { cursor - start }
        set { cursor = start + newValue }
    }

    var isAtEnd: Bool { cursor == end }

    func failure(_ message: String, code: PropertyListError.Code = .syntax, at offset: Int? = nil) -> ReadingFailure {
        ReadingFailure(code: code, offset: offset ?? self.offset, message: message)
    }

    func expected(_ wanted: String, at offset: Int? = nil) -> ReadingFailure {
        failure("expected \(wanted), found \(found(at: offset ?? self.offset))", at: offset)
    }

    /// Describes the text at an offset for error messages: a tag, a character, or the end.
    private func found(at offset: Int) -> String {
        let position = start + offset
        guard position < end else { return "the end of the document" }
        if position.pointee == UInt8(ascii: "<") {
            var last = position + 1
            while last < end, last - position < 40, last.pointee != UInt8(ascii: ">"),
                last.pointee != UInt8(ascii: "<"),
                !last.pointee.isPropertyListWhitespace
            { last += 1 }
            let tag = String(decoding: UnsafeBufferPointer(start: position, count: last - position), as: UTF8.self)
                .shown()
            return last < end && last.pointee == UInt8(ascii: ">") ? tag + ">" : tag
        }
        let rest = UnsafeBufferPointer(start: position, count: min(4, end - position))
        guard let scalar = String(decoding: rest, as: UTF8.self).unicodeScalars.first else { return "nothing" }
        guard scalar.value > 0x20, scalar.value != 0x7F else {
            return "U+" + String(scalar.value + 0x10000, radix: 16, uppercase: true).dropFirst()
        }
        return "\"\(String(scalar).shown())\""
    }

    // MARK: Markup

    @inline(__always)
    private func isNext(_ byte: UInt8) -> Bool {
        cursor < end && cursor.pointee == byte
    }

    @inline(__always)
    private func isNext(_ text: StaticString, at position: UnsafePointer<UInt8>) -> Bool {
        guard end - position >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where position[index] != text.utf8Start[index] { return false }
        return true
    }

    @inline(__always)
    mutating func skip(_ text: StaticString) -> Bool {
        guard isNext(text, at: cursor) else { return false }
        cursor += text.utf8CodeUnitCount
        return true
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while cursor < end, cursor.pointee.isPropertyListWhitespace { cursor += 1 }
    }

    /// Skips whitespace, comments and processing instructions.
    @inline(__always)
    mutating func skipMisc() throws(ReadingFailure) {
        skipWhitespace()
        guard end - cursor >= 2, cursor.pointee == UInt8(ascii: "<") else { return }
        let second = cursor[1]
        if second == UInt8(ascii: "!") || second == UInt8(ascii: "?") { try skipMiscMarkup() }
    }

    /// Skips everything that may follow the document: whitespace, comments, processing instructions, and the zero bytes
    /// of a buffer that was written in full.
    mutating func skipToEnd() throws(ReadingFailure) {
        repeat { try skipMisc() } while skip("\0")
        guard isAtEnd else { throw expected("the end of the document") }
    }

    private mutating func skipMiscMarkup() throws(ReadingFailure) {
        repeat {
            skipWhitespace()
        } while try skipCommentOrInstruction()
    }

    private mutating func skipCommentOrInstruction() throws(ReadingFailure) -> Bool {
        let position = offset
        if skip("<!--") {
            try skipThrough("-->", what: "the end of the comment", from: position)
            return true
        }
        if skip("<?") {
            try skipThrough("?>", what: "the end of the processing instruction", from: position)
            return true
        }
        return false
    }

    private mutating func skipThrough(
        _ text: StaticString, what: String, from position: Int
    ) throws(ReadingFailure) {
        while cursor < end {
            if skip(text) { return }
            cursor += 1
        }
        throw failure("\(what) is missing", at: position)
    }

    /// Skips `<!DOCTYPE …>` if it is next; an external identifier is never fetched.
    mutating func skipDocumentType() throws(ReadingFailure) {
        let position = offset
        guard skip("<!DOCTYPE") else { return }
        while cursor < end {
            let byte = cursor.pointee
            switch byte {
            case UInt8(ascii: ">"):
                cursor += 1
                return
            case UInt8(ascii: "["):
                throw failure("a DOCTYPE with an internal subset is not supported", code: .unsupported)
            case UInt8(ascii: "\""), UInt8(ascii: "'"): try skipQuoted(byte)
            default: cursor += 1
            }
        }
        throw failure("the end of the DOCTYPE is missing", at: position)
    }

    private mutating func skipQuoted(_ quote: UInt8) throws(ReadingFailure) {
        let position = offset
        cursor += 1
        while cursor < end {
            cursor += 1
            if cursor[-1] == quote { return }
        }
        throw failure("the closing quotation mark is missing", at: position)
    }

    /// Scans the name of a tag, after `<` or `</`.
    @inline(__always)
    mutating func elementName() -> XMLElement? {
        let name = cursor
        while cursor < end {
            let byte = cursor.pointee
            if byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") || byte.isPropertyListWhitespace { break }
            cursor += 1
        }
        return XMLElement(name: UnsafeBufferPointer(start: name, count: cursor - name))
    }

    /// Scans the rest of an opening tag and ignores its attributes.
    ///
    /// - Returns: Whether the element is empty: `<string/>`.
    @inline(__always)
    mutating func endOfOpeningTag() throws(ReadingFailure) -> Bool {
        if isNext(UInt8(ascii: ">")) {
            cursor += 1
            return false
        }
        return try endOfOpeningTagWithAttributes()
    }

    private mutating func endOfOpeningTagWithAttributes() throws(ReadingFailure) -> Bool {
        while cursor < end {
            let byte = cursor.pointee
            switch byte {
            case UInt8(ascii: ">"):
                cursor += 1
                return false
            case UInt8(ascii: "/"):
                cursor += 1
                guard isNext(UInt8(ascii: ">")) else { throw expected(">") }
                cursor += 1
                return true
            case UInt8(ascii: "\""), UInt8(ascii: "'"): try skipQuoted(byte)
            case UInt8(ascii: "<"): throw expected(">")
            default: cursor += 1
            }
        }
        throw expected(">")
    }

    /// Scans `</name>`.
    @inline(__always)
    mutating func closingTag(of element: XMLElement) throws(ReadingFailure) {
        let position = offset
        guard skip("</"), elementName() == element else { throw expected("</\(element)>", at: position) }
        skipWhitespace()
        guard isNext(UInt8(ascii: ">")) else { throw expected(">") }
        cursor += 1
    }

    /// Skips an element and its contents, starting at the opening tag; only tags are checked.
    mutating func skipValue() throws(ReadingFailure) {
        guard isNext(UInt8(ascii: "<")) else { throw expected("a value") }
        var depth = 0
        repeat {
            skipToMarkup()
            if isNext("</", at: cursor) {
                cursor += 2
                _ = elementName()
                skipWhitespace()
                guard isNext(UInt8(ascii: ">")) else { throw expected(">") }
                cursor += 1
                depth -= 1
            } else if isNext("<![CDATA[", at: cursor) {
                try skipThrough("]]>", what: "the end of the CDATA section", from: offset)
            } else if try !skipCommentOrInstruction() {
                guard skip("<"), elementName() != nil else { throw expected("a tag") }
                if try !endOfOpeningTag() { depth += 1 }
            }
        } while depth > 0
        guard depth == 0 else { throw expected("a value") }
    }

    /// Moves to the next `<`.
    @inline(__always)
    private mutating func skipToMarkup() {
        while end - cursor >= 8 {
            let hits = Word.zeroBytes(Word.load(cursor) ^ Word.repeating(UInt8(ascii: "<")))
            guard hits == 0 else {
                cursor += hits.trailingZeroBitCount >> 3
                return
            }
            cursor += 8
        }
        while cursor < end, cursor.pointee != UInt8(ascii: "<") { cursor += 1 }
    }

    // MARK: Text

    /// Scans an element's text and its closing tag.
    ///
    /// Line endings stay as they are, although XML would turn each into a line feed: Foundation writes and reads
    /// carriage returns unchanged.
    ///
    /// - Returns: The text with references replaced; valid until the next call.
    @inline(__always)
    mutating func text(of element: XMLElement) throws(ReadingFailure) -> UnsafeBufferPointer<UInt8> {
        let first = cursor
        skipPlainText()
        if end - cursor >= 2, cursor.pointee == UInt8(ascii: "<"), cursor[1] == UInt8(ascii: "/") {
            let text = UnsafeBufferPointer(start: first, count: cursor - first)
            try closingTag(of: element)
            return text
        }
        return try assembledText(of: element, from: first)
    }

    /// Moves to the next `<` or `&`.
    @inline(__always)
    private mutating func skipPlainText() {
        while end - cursor >= 8 {
            let word = Word.load(cursor)
            let hits =
                Word.zeroBytes(word ^ Word.repeating(UInt8(ascii: "<")))
                | Word.zeroBytes(word ^ Word.repeating(UInt8(ascii: "&")))
            guard hits == 0 else {
                cursor += hits.trailingZeroBitCount >> 3
                return
            }
            cursor += 8
        }
        while cursor < end {
            let byte = cursor.pointee
            if byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") { return }
            cursor += 1
        }
    }

    private mutating func assembledText(
        of element: XMLElement, from first: UnsafePointer<UInt8>
    ) throws(ReadingFailure) -> UnsafeBufferPointer<UInt8> {
        scratch.removeAll()
        var plain = first
        while true {
            scratch.append(UnsafeBufferPointer(start: plain, count: cursor - plain))
            guard cursor < end else { throw expected("</\(element)>") }
            switch cursor.pointee {
            case UInt8(ascii: "&"): scratch.append(try reference())
            default:
                if isNext("</", at: cursor) {
                    try closingTag(of: element)
                    return scratch.elements
                }
                if isNext("<![CDATA[", at: cursor) {
                    try characterData()
                } else if try !skipCommentOrInstruction() {
                    throw expected("</\(element)>")
                }
            }
            plain = cursor
            skipPlainText()
        }
    }

    private mutating func characterData() throws(ReadingFailure) {
        let position = offset
        cursor += 9
        while cursor < end {
            if skip("]]>") { return }
            scratch.append(cursor.pointee)
            cursor += 1
        }
        throw failure("the end of the CDATA section is missing", at: position)
    }

    /// Scans an entity reference such as `&amp;`, or a character reference such as `&#65;`.
    private mutating func reference() throws(ReadingFailure) -> Unicode.Scalar {
        let position = offset
        if skip("&lt;") { return "<" }
        if skip("&gt;") { return ">" }
        if skip("&amp;") { return "&" }
        if skip("&quot;") { return "\"" }
        if skip("&apos;") { return "'" }
        guard skip("&#") else {
            throw failure(
                "expected one of &lt; &gt; &amp; &quot; &apos; or a character reference such as &#65;, found another "
                    + "entity or a lone &", at: position)
        }
        let radix: UInt32 = skip("x") ? 16 : 10
        var value: UInt32 = 0
        var digits = 0
        while cursor < end, let digit = cursor.pointee.hexadecimalValue, digit < radix {
            // Cap the value: beyond Unicode, it only has to stay invalid.
            value = min(value * radix + UInt32(digit), 0x11_0000)
            digits += 1
            cursor += 1
        }
        guard digits > 0, isNext(UInt8(ascii: ";")) else {
            throw failure("expected a character reference such as &#65; or &#x41;", at: position)
        }
        cursor += 1
        guard let scalar = Unicode.Scalar(value), scalar.isAllowedInXML else {
            throw failure("XML 1.0 does not allow the referenced character", at: position)
        }
        return scalar
    }
}

extension Unicode.Scalar {
    /// Whether XML 1.0 can represent the character, directly or by reference.
    var isAllowedInXML: Bool {
        switch value {
        case 0x09, 0x0A, 0x0D, 0x20...0xFFFD, 0x1_0000...0x10_FFFF: true
        default: false
        }
    }
}
