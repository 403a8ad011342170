/// The lines of a text document: where they begin and end, and how they are indented.
struct TextLayout {
    let text: UnsafeBufferPointer<UInt8>
    let format: PropertyListFormat

    /// The end of a line, as the document's first one has it.
    let lineEnd: [UInt8]

    init(_ text: UnsafeBufferPointer<UInt8>, _ format: PropertyListFormat) {
        self.text = text
        self.format = format
        let first = text.firstIndex(of: UInt8(ascii: "\n")) ?? 0
        lineEnd = first > 0 && text[first - 1] == UInt8(ascii: "\r") ? Array("\r\n".utf8) : Array("\n".utf8)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func endsLine(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    /// The indentation before a place; nil when something else comes before it on its line.
    func indentation(before place: Int) -> Range<Int>? {
        var start = place
        while start > 0, Self.isBlank(text[start - 1]) { start -= 1 }
        return start == 0 || Self.endsLine(text[start - 1]) ? start..<place : nil
    }

    /// The indentation before a place as bytes, empty when something else comes before it on its line.
    func margin(before place: Int) -> [UInt8] {
        indentation(before: place).map { Array(text[$0]) } ?? []
    }

    /// Finds where the next line begins.
    ///
    /// - Parameters:
    ///   - place: A place on the line.
    ///   - passesComments: Whether comments that end on the line count as nothing.
    /// - Returns: The place behind the line's end; nil when something follows on the line.
    func nextLine(after place: Int, passesComments: Bool = false) -> Int? {
        var index = place
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

    /// Finds the line behind the head of a strings file: the comments that a blank line keeps apart from the first entry.
    ///
    /// - Parameter place: The first entry.
    /// - Returns: The beginning of a line, at or before that of the entry and its own comments.
    func lineBehindHead(before place: Int) -> Int {
        var (line, index, isBlank) = (0, 0, true)
        while index < place {
            if Self.endsLine(text[index]) {
                index = nextLine(after: index) ?? place
                if isBlank { line = index }
                isBlank = true
            } else if text[index...].starts(with: "/*".utf8) {
                index += 2
                while index < place, !text[index...].starts(with: "*/".utf8) { index += 1 }
                index += 2
                isBlank = false
            } else if text[index...].starts(with: "//".utf8) {
                while index < place, !Self.endsLine(text[index]) { index += 1 }
                isBlank = false
            } else {
                index += 1
            }
        }
        return line
    }

    /// The end of a comment that begins at a place and ends on the same line.
    private func endOfComment(at place: Int) -> Int? {
        let rest = text[place...].prefix { !Self.endsLine($0) }
        func end(_ opening: StaticString, _ closing: String) -> Int? {
            guard rest.starts(with: UnsafeBufferPointer(start: opening.utf8Start, count: opening.utf8CodeUnitCount))
            else { return nil }
            var index = place + opening.utf8CodeUnitCount
            while index < rest.endIndex {
                if rest[index...].starts(with: closing.utf8) { return index + closing.utf8.count }
                index += 1
            }
            return nil
        }
        guard format == .oldStyle else { return end("<!--", "-->") }
        return rest.starts(with: "//".utf8) ? rest.endIndex : end("/*", "*/")
    }
}

/// The layout of a value within a document that another wrote.
struct FragmentLayout {
    /// The indentation of the line that the value begins on.
    var margin: [UInt8]
    /// The indentation of what is in a container, beyond the container's own.
    var unit: [UInt8]
    var lineEnd: [UInt8]

    /// Ends the line that the output ends with, if it does with a line feed, and indents the next.
    func beginLine(_ output: inout MoveStack<UInt8>, depth: Int) {
        if output.elements.last == UInt8(ascii: "\n") {
            output.drop(after: output.count - 1)
            output.append(lineEnd[...])
        }
        output.append(margin[...])
        for _ in 0..<depth { output.append(unit[...]) }
    }

    /// The columns that the indentation takes.
    func columns(depth: Int) -> Int {
        (margin + Array(repeatElement(unit, count: depth).joined())).reduce(0) {
            $0 + ($1 == UInt8(ascii: "\t") ? 8 : 1)
        }
    }
}
