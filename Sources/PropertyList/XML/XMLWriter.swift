/// A writer of XML property lists in Apple's layout, byte for byte.
///
/// It differs where Foundation on Linux is wrong. A carriage return is written as `&#13;` so that it survives, a
/// character that XML forbids is an error, reals have the shortest text that reads back exactly, and `-0.0` retains its
/// sign.
struct XMLWriter: ~Copyable {
    /// The end of the output, which is moved to `document` when it has grown to a block.
    private var output = MoveStack<UInt8>(minimumCapacity: 4096)
    private var document: [UInt8] = []
    /// The number of values in the largest container so far.
    private var most = 0
    private var open = WriterStack(format: .xml)
    /// The layout of the surrounding document; `nil` when writing a whole document.
    private var layout: FragmentLayout?

    /// Writes a value as a whole document.
    mutating func write(_ value: PropertyListValue) throws(PropertyListError) -> [UInt8] {
        output.append(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">

            """)
        try writeElement(value)
        output.append("</plist>\n")
        flush()
        return document
    }

    /// Writes a value as part of a document, without the first line's indentation and the last line's newline.
    mutating func write(
        _ value: PropertyListValue, within layout: FragmentLayout
    ) throws(PropertyListError) -> [UInt8] {
        self.layout = layout
        try writeElement(value)
        return [UInt8](output.elements.dropLast())
    }

    /// Writes a key as part of a document.
    mutating func write(key: String) throws(PropertyListError) -> [UInt8] {
        output.append("<key>")
        try append(escaping: key)
        output.append("</key>")
        return [UInt8](output.elements)
    }

    private mutating func writeElement(_ value: PropertyListValue) throws(PropertyListError) {
        try begin(value)
        while open.depth > 0 {
            if output.count >= Self.block, layout == nil { flush() }
            guard let value = open.next() else {
                let isDictionary = open.isInDictionary
                open.close()
                indent()
                output.append(isDictionary ? "</dict>\n" : "</array>\n")
                continue
            }
            if open.isInDictionary {
                indent()
                output.append("<key>")
                try append(escaping: open.key(at: open.position - 1))
                output.append("</key>\n")
            }
            try begin(value)
        }
    }

    /// The size of a block, which fits the processor's cache.
    private static let block = 1 << 14

    private mutating func flush() {
        if document.isEmpty, output.count >= Self.block {
            // Expect the rest to be like the first block, but with values of 96 bytes at most.
            let expected = Double(output.count) / open.progress * 1.1
            document.reserveCapacity(Int(min(expected, Double(most * 96))))
        }
        document.append(contentsOf: output.elements)
        output.removeAll()
    }

    /// Writes a scalar or an empty container, or opens a container.
    private mutating func begin(_ value: PropertyListValue) throws(PropertyListError) {
        indent()
        switch value {
        case .string(let string):
            output.append("<string>")
            try append(escaping: string)
            output.append("</string>\n")
        case .integer(let number): append(integer: number)
        case .unsigned(let number): append(integer: number)
        case .real(let number): append(real: number)
        case .real32(let number):
            // Use the digits of the 64-bit number, because readers parse the text as a 64-bit number.
            append(real: Double(number))
        case .boolean(let flag): output.append(flag ? "<true/>\n" : "<false/>\n")
        case .date(let date): try append(date)
        case .data(let bytes): append(bytes)
        case .array(let values):
            guard !values.isEmpty else { return try appendEmpty("<array/>\n") }
            output.append("<array>\n")
            try open.open(values)
            most = max(most, values.count)
        case .dictionary(let values):
            guard !values.isEmpty else { return try appendEmpty("<dict/>\n") }
            output.append("<dict>\n")
            try open.open(values)
            most = max(most, values.count)
        case .uid(let number):
            output.append("<dict>\n")
            try open.open(["CF$UID": .number(number)])
        }
    }

    private mutating func appendEmpty(_ tag: StaticString) throws(PropertyListError) {
        try open.checkRoom()
        output.append(tag)
    }

    @inline(__always)
    private mutating func indent() {
        if let layout {
            if output.count > 0 { layout.beginLine(&output, depth: open.depth) }
            return
        }
        output.append(UInt8(ascii: "\t"), count: open.depth)
    }

    private mutating func append(integer number: some FixedWidthInteger) {
        output.append("<integer>")
        output.append(decimal: number)
        output.append("</integer>\n")
    }

    private mutating func append(real number: Double) {
        output.append("<real>")
        if number.isInfinite {
            output.append(number < 0 ? "-infinity" : "+infinity")
        } else if number == 0 {
            output.append(number.sign == .minus ? "-0.0" : "0.0")
        } else {
            output.append(text: NumberText.text(number))
        }
        output.append("</real>\n")
    }

    private mutating func append(_ date: PropertyListDate) throws(PropertyListError) {
        guard let time = CivilTime(date) else {
            throw unrepresentable("the date \(date) is outside the years 0 to 9999, the range of XML")
        }
        output.append("<date>")
        time.append(to: &output, separator: "T")
        output.append("Z</date>\n")
    }

    private mutating func append(_ bytes: [UInt8]) {
        output.append("<data>\n")
        // Apple breaks lines at column 76, counts a tab as 8 columns, and stops indenting at 8 tabs.
        let tabs = min(open.depth, 8)
        let columns = (76 - min(layout?.columns(depth: open.depth) ?? 8 * tabs, 64)) / 4 * 4
        var text: [UInt8] = []
        Base64.encode(bytes[...], to: &text)
        for start in stride(from: 0, to: text.count, by: columns) {
            if layout == nil { output.append(UInt8(ascii: "\t"), count: tabs) } else { indent() }
            output.append(text[start..<min(start + columns, text.count)])
            output.append(UInt8(ascii: "\n"))
        }
        indent()
        output.append("</data>\n")
    }

    // MARK: Text

    private mutating func append(escaping string: String) throws(PropertyListError) {
        let result = string.withBytes { text in Result { () throws(PropertyListError) in try append(escaping: text) } }
        try result.get()
    }

    private mutating func append(escaping text: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        guard let forbidden = appendAllowed(text) else { return }
        let code = String(forbidden + 0x10000, radix: 16, uppercase: true).dropFirst()
        throw unrepresentable("the text contains U+\(code), which XML cannot represent; the binary format can")
    }

    /// Appends the text; if it contains a character that XML forbids, stops and returns that character.
    private mutating func appendAllowed(_ text: UnsafeBufferPointer<UInt8>) -> UInt32? {
        var index = 0
        while true {
            index += output.append(UnsafeBufferPointer(rebasing: text[index...]), until: Self.specialBytes)
            guard index < text.count else { return nil }
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "<"): output.append("&lt;")
            case UInt8(ascii: ">"): output.append("&gt;")
            case UInt8(ascii: "&"): output.append("&amp;")
            case UInt8(ascii: "\r"): output.append("&#13;")
            case UInt8(ascii: "\t"), UInt8(ascii: "\n"): output.append(byte)
            case 0xEF:
                // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
                if text[index + 1] == 0xBF, text[index + 2] >= 0xBE { return 0xFFC0 + UInt32(text[index + 2] & 0x3F) }
                output.append(byte)
            default: return UInt32(byte)
            }
            index += 1
        }
    }

    /// Returns a word with the high bit set in the first byte that may need escaping, and possibly in later bytes.
    ///
    /// These are `<`, `>`, `&`, control characters, and 0xEF.
    @inline(__always)
    private static func specialBytes(_ word: UInt64) -> UInt64 {
        // `<` and `>` differ only in the second bit.
        let hits =
            Word.zeroBytes((word | Word.repeating(0x02)) ^ Word.repeating(UInt8(ascii: ">")))
            | Word.zeroBytes(word ^ Word.repeating(UInt8(ascii: "&")))
            | (word &- Word.repeating(0x20)) & ~word & Word.highBits
        return word & Word.highBits == 0 ? hits : hits | Word.zeroBytes(word ^ Word.repeating(0xEF))
    }

    private func unrepresentable(_ message: String) -> PropertyListError {
        PropertyListError(code: .unrepresentable, format: .xml, keyPath: open.keyPath, message: message)
    }
}
