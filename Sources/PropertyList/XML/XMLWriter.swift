/// A writer of XML property lists in Apple's layout, byte for byte.
///
/// It differs where Foundation on Linux is wrong: a carriage return is written as `&#13;` so that it survives, a
/// character that XML forbids is an error, reals have the shortest text that reads back exactly, and `-0.0` retains its
/// sign.
struct XMLWriter: ~Copyable {
    private var output = MoveStack<UInt8>(minimumCapacity: 4096)
    private var levels: [WriterLevel] = []
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
        return [UInt8](output.elements)
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
        while let last = levels.indices.last {
            let index = levels[last].next
            guard index < levels[last].count else {
                let isDictionary = levels.removeLast().isDictionary
                indent()
                output.append(isDictionary ? "</dict>\n" : "</array>\n")
                continue
            }
            levels[last].next += 1
            if let key = levels[last].key(at: index) {
                indent()
                output.append("<key>")
                try append(escaping: key)
                output.append("</key>\n")
            }
            try begin(levels[last][index])
        }
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
        case .real(let number): append(real: number == 0 ? "\(number)" : NumberText.text(number))
        case .real32(let number):
            // Use the digits of the 64-bit number, because readers parse the text as a 64-bit number.
            append(real: number == 0 ? "\(number)" : NumberText.text(Double(number)))
        case .boolean(let flag): output.append(flag ? "<true/>\n" : "<false/>\n")
        case .date(let date): try append(date)
        case .data(let bytes): append(bytes)
        case .array(let values):
            guard !values.isEmpty else { return try appendEmpty("<array/>\n") }
            output.append("<array>\n")
            try levels.open(WriterLevel(values), format: .xml)
        case .dictionary(let values):
            guard !values.isEmpty else { return try appendEmpty("<dict/>\n") }
            output.append("<dict>\n")
            try levels.open(WriterLevel(values), format: .xml)
        case .uid(let number):
            output.append("<dict>\n")
            try levels.open(WriterLevel(["CF$UID": .number(number)]), format: .xml)
        }
    }

    private mutating func appendEmpty(_ tag: StaticString) throws(PropertyListError) {
        try levels.checkRoom(format: .xml)
        output.append(tag)
    }

    private mutating func indent() {
        if let layout {
            if output.count > 0 { layout.beginLine(&output, depth: levels.count) }
            return
        }
        for _ in 0..<levels.count { output.append(UInt8(ascii: "\t")) }
    }

    private mutating func append(integer number: some FixedWidthInteger) {
        output.append("<integer>")
        output.append(decimal: number)
        output.append("</integer>\n")
    }

    private mutating func append(real text: String) {
        output.append("<real>")
        switch text {
        case "inf": output.append("+infinity")
        case "-inf": output.append("-infinity")
        default: output.append(text: text)
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
        let tabs = min(levels.count, 8)
        let columns = (76 - min(layout?.columns(depth: levels.count) ?? 8 * tabs, 64)) / 4 * 4
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
        var string = string
        guard let forbidden = string.withUTF8({ append(escaping: $0) }) else { return }
        let code = String(forbidden + 0x10000, radix: 16, uppercase: true).dropFirst()
        throw unrepresentable("the text contains U+\(code), which XML cannot represent; the binary format can")
    }

    /// Appends the text; if it contains a character that XML forbids, stops and returns that character.
    private mutating func append(escaping text: UnsafeBufferPointer<UInt8>) -> UInt32? {
        guard let base = text.baseAddress else { return nil }
        var plain = 0
        var index = 0
        while true {
            index = Self.plainEnd(base, from: index, count: text.count)
            guard index < text.count else { break }
            let byte = base[index]
            var replacement: StaticString?
            switch byte {
            case UInt8(ascii: "<"): replacement = "&lt;"
            case UInt8(ascii: ">"): replacement = "&gt;"
            case UInt8(ascii: "&"): replacement = "&amp;"
            case UInt8(ascii: "\r"): replacement = "&#13;"
            case UInt8(ascii: "\t"), UInt8(ascii: "\n"): break
            case 0xEF:
                // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
                if base[index + 1] == 0xBF, base[index + 2] >= 0xBE { return 0xFFC0 + UInt32(base[index + 2] & 0x3F) }
            default: return UInt32(byte)
            }
            if let replacement {
                output.append(UnsafeBufferPointer(start: base + plain, count: index - plain))
                output.append(replacement)
                plain = index + 1
            }
            index += 1
        }
        output.append(UnsafeBufferPointer(start: base + plain, count: text.count - plain))
        return nil
    }

    /// Returns the index of the next byte that may need escaping: `<`, `>`, `&`, a control character, or 0xEF.
    private static func plainEnd(_ base: UnsafePointer<UInt8>, from start: Int, count: Int) -> Int {
        var index = start
        while count - index >= 8 {
            let word = Word.load(base + index)
            let hits =
                Word.zeroBytes(word ^ Word.repeating(UInt8(ascii: "<")))
                | Word.zeroBytes(word ^ Word.repeating(UInt8(ascii: ">")))
                | Word.zeroBytes(word ^ Word.repeating(UInt8(ascii: "&")))
                | Word.zeroBytes(word ^ Word.repeating(0xEF))
                | (word &- Word.repeating(0x20)) & ~word & Word.highBits
            guard hits == 0 else { return index + hits.trailingZeroBitCount >> 3 }
            index += 8
        }
        while index < count {
            let byte = base[index]
            if byte < 0x20 || byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "&")
                || byte == 0xEF
            {
                break
            }
            index += 1
        }
        return index
    }

    private func unrepresentable(_ message: String) -> PropertyListError {
        PropertyListError(code: .unrepresentable, format: .xml, keyPath: levels.keyPath, message: message)
    }
}
