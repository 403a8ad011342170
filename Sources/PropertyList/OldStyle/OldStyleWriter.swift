/// A writer of old-style property lists in the layout of macOS's `defaults read`, as UTF-8 that reads back.
///
/// It differs where Apple's output can't be read back: non-ASCII characters aren't escaped, except for control
/// characters, and data is written in full.
struct OldStyleWriter: ~Copyable {
    /// Whether numbers, Booleans and dates are written in GNUstep's form, `<*I5>`, which preserves their types.
    ///
    /// Containers then begin right after their keys, without macOS's extra indentation.
    var isTyped = false

    private var output = MoveStack<UInt8>()
    private var open = WriterStack(format: .oldStyle)
    /// The layout of the surrounding document; `nil` when writing a whole document.
    private var layout: FragmentLayout?

    /// Writes a value as a whole document.
    mutating func write(_ value: PropertyListValue) throws(PropertyListError) -> [UInt8] {
        try writeValue(value)
        output.append(UInt8(ascii: "\n"))
        return [UInt8](output.elements)
    }

    /// Writes a value as part of a document, without the first line's indentation and the last line's newline.
    mutating func write(
        _ value: PropertyListValue, within layout: FragmentLayout
    ) throws(PropertyListError) -> [UInt8] {
        (self.layout, isTyped) = (layout, true)
        try writeValue(value)
        return [UInt8](output.elements)
    }

    private mutating func writeValue(_ value: PropertyListValue) throws(PropertyListError) {
        try begin(value)
        while open.depth > 0 {
            guard let value = open.next() else {
                end()
                continue
            }
            if !open.isInDictionary, open.position > 1 { output.append(",\n") }
            indent()
            if open.isInDictionary {
                append(open.key(at: open.position - 1))
                output.append(" = ")
            }
            try begin(value)
        }
    }

    /// Writes a scalar, or opens a container.
    private mutating func begin(_ value: PropertyListValue) throws(PropertyListError) {
        switch value {
        case .string(let string): append(string)
        case .integer(let number): append(String(number), type: "I")
        case .unsigned(let number): append(String(number), type: "I")
        case .real(let number): append(NumberText.text(number), type: "R")
        case .real32(let number): append(NumberText.text(number), type: "R")
        case .boolean(let flag):
            if isTyped { append(flag ? "Y" : "N", type: "B") } else { output.append(UInt8(ascii: flag ? "1" : "0")) }
        case .date(let date):
            // A date outside the calendar has no typed form that can be read back.
            if CivilTime(date) == nil { append(date.oldStyleText) } else { append(date.oldStyleText, type: "D") }
        case .data(let bytes): append(bytes)
        case .array(let values):
            if !isTyped { indent() }
            output.append("(\n")
            return try open.open(values)
        case .dictionary(let values):
            if !isTyped { indent() }
            output.append("{\n")
            return try open.open(values)
        case .uid(let number):
            if !isTyped { indent() }
            output.append("{\n")
            return try open.open(["CF$UID": .number(number)])
        }
        endValue()
    }

    private mutating func end() {
        let isDictionary = open.isInDictionary
        if !isDictionary, open.position > 0 { output.append(UInt8(ascii: "\n")) }
        open.close()
        indent()
        output.append(UInt8(ascii: isDictionary ? "}" : ")"))
        endValue()
    }

    private mutating func endValue() {
        if open.isInDictionary { output.append(";\n") }
    }

    private mutating func indent() {
        if let layout { return layout.beginLine(&output, depth: open.depth) }
        output.append(UInt8(ascii: " "), count: 4 * open.depth)
    }

    /// Writes the text of a value that isn't a string, with its type if requested.
    private mutating func append(_ text: String, type: String) {
        if isTyped { output.append(text: "<*\(type)\(text)>") } else { append(text) }
    }

    private mutating func append(_ bytes: [UInt8]) {
        output.append(UInt8(ascii: "<"))
        for (index, byte) in bytes.enumerated() {
            if index > 0, index % 4 == 0 { output.append(UInt8(ascii: " ")) }
            output.append(Self.hexadecimalDigit(byte >> 4))
            output.append(Self.hexadecimalDigit(byte & 0x0F))
        }
        output.append(UInt8(ascii: ">"))
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    // MARK: Text

    private mutating func append(_ string: String) {
        string.withBytes { append($0) }
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        let isPlain = text.allSatisfy { byte in
            byte.isDecimalDigit || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
        }
        // A document that begins with these bytes would be detected as binary.
        let looksBinary = output.count == 0 && text.starts(with: "bplist".utf8)
        guard !isPlain || text.isEmpty || looksBinary else { return output.append(text) }
        output.append(UInt8(ascii: "\""))
        for (index, byte) in text.enumerated() {
            // U+0080 to U+009F, encoded as C2 80 to C2 9F, are control characters too.
            if byte == 0xC2, text[index + 1] < 0xA0 {
                output.append("\\U00")
                output.append(Self.hexadecimalDigit(text[index + 1] >> 4))
                output.append(Self.hexadecimalDigit(text[index + 1] & 0x0F))
            } else if byte >= 0x80, byte < 0xA0, text[index - 1] == 0xC2 {
                continue
            } else {
                append(escaping: byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private mutating func append(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): output.append("\\\"")
        case UInt8(ascii: "\\"): output.append("\\\\")
        case 0x07: output.append("\\a")
        case 0x08: output.append("\\b")
        case 0x09: output.append("\\t")
        case 0x0A: output.append("\\n")
        case 0x0B: output.append("\\v")
        case 0x0C: output.append("\\f")
        case 0x0D: output.append("\\r")
        case 0x00..<0x20, 0x7F:
            output.append(UInt8(ascii: "\\"))
            for shift in [6, 3, 0] as [UInt8] { output.append(UInt8(ascii: "0") + byte >> shift & 7) }
        default: output.append(byte)
        }
    }
}

extension PropertyListDate {
    /// The date as written in old-style property lists: `2001-01-01 00:00:00 +0000`, without a fraction of a second.
    var oldStyleText: String {
        CivilTime(self)?.text(separator: " ", fraction: "", zone: " +0000") ?? description
    }
}
