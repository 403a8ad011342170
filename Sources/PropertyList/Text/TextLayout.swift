/// The layout of a text document: where its lines begin and end, and how they are indented.
struct TextLayout {
    let text: UnsafeBufferPointer<UInt8>
    let format: PropertyListFormat

    /// The document's line ending, taken from its first line.
    let lineEnd: [UInt8]

    init(_ text: UnsafeBufferPointer<UInt8>, in format: PropertyListFormat) {
        self.text = text
        self.format = format
        let first = text.firstIndex(of: UInt8(ascii: "\n")) ?? 0
        lineEnd = first > 0 && text[first - 1] == UInt8(ascii: "\r") ? Array("\r\n".utf8) : Array("\n".utf8)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func endsLine(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    /// Returns the indentation before an offset; `nil` if something else precedes it on its line.
    func indentation(before position: Int) -> Range<Int>? {
        var start = position
        while start > 0, Self.isBlank(text[start - 1]) { start -= 1 }
        return start == 0 || Self.endsLine(text[start - 1]) ? start..<position : nil
    }

    /// Returns the bytes of the indentation before an offset; empty if something else precedes it on its line.
    func margin(before position: Int) -> [UInt8] {
        indentation(before: position).map { Array(text[$0]) } ?? []
    }

    /// Finds the beginning of the next line.
    ///
    /// - Parameters:
    ///   - position: An offset on the line.
    ///   - passesComments: Whether to skip comments that end on the line.
    /// - Returns: The offset after the line's end, or `nil` if other text follows on the line.
    func nextLine(after position: Int, passesComments: Bool = false) -> Int? {
        var index = position
        while index < text.count {
            let byte = text[index]
            if Self.isBlank(byte) {
                index += 1
            } else if Self.endsLine(byte) {
                let isPair =
                    byte == UInt8(ascii: "\r") && index + 1 < text.count && text[index + 1] == UInt8(ascii: "\n")
                return index + (isPair ? 2 : 1)
            } else if passesComments, let end = endOfComment(at: index) {
                index = end
            } else {
                return nil
            }
        }
        return nil
    }

    /// Finds the line after a strings file's header: the comments separated from the first entry by a blank line.
    ///
    /// - Parameter position: The offset of the first entry.
    /// - Returns: The offset of the line on which the first entry begins, or on which the comments that belong to it
    ///   begin.
    func lineBehindHead(before position: Int) -> Int {
        var (line, index, isBlank) = (0, 0, true)
        while index < position {
            if Self.endsLine(text[index]) {
                index = nextLine(after: index) ?? position
                if isBlank { line = index }
                isBlank = true
            } else if text[index...].starts(with: "/*".utf8) {
                index += 2
                while index < position, !text[index...].starts(with: "*/".utf8) { index += 1 }
                index += 2
                isBlank = false
            } else if text[index...].starts(with: "//".utf8) {
                while index < position, !Self.endsLine(text[index]) { index += 1 }
                isBlank = false
            } else {
                index += 1
            }
        }
        return line
    }

    /// Returns the end of a comment that begins at an offset and ends on the same line.
    private func endOfComment(at position: Int) -> Int? {
        let rest = text[position...].prefix { !Self.endsLine($0) }
        func end(from opening: StaticString, to closing: String) -> Int? {
            guard rest.starts(with: UnsafeBufferPointer(start: opening.utf8Start, count: opening.utf8CodeUnitCount))
            else { return nil }
            var index = position + opening.utf8CodeUnitCount
            while index < rest.endIndex {
                if rest[index...].starts(with: closing.utf8) { return index + closing.utf8.count }
                index += 1
            }
            return nil
        }
        guard format == .oldStyle else { return end(from: "<!--", to: "-->") }
        return rest.starts(with: "//".utf8) ? rest.endIndex : end(from: "/*", to: "*/")
    }
}

/// The layout of a value inserted into an existing document.
struct FragmentLayout {
    /// The indentation of the line that the value begins on.
    var margin: [UInt8]
    /// The indentation that each container adds for its contents.
    var unit: [UInt8]
    var lineEnd: [UInt8]

    /// Replaces a newline at the end of the output with the document's line ending, and indents the next line.
    func beginLine(_ output: inout MoveStack<UInt8>, depth: Int) {
        if output.elements.last == UInt8(ascii: "\n") {
            output.drop(after: output.count - 1)
            output.append(lineEnd[...])
        }
        output.append(margin[...])
        for _ in 0..<depth { output.append(unit[...]) }
    }

    /// Returns the number of columns that the indentation occupies.
    func columns(depth: Int) -> Int {
        (margin + Array(repeatElement(unit, count: depth).joined())).reduce(0) {
            $0 + ($1 == UInt8(ascii: "\t") ? 8 : 1)
        }
    }
}
