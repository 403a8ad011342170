extension TextSplice {
    /// A step from a container to a value in it.
    package enum Step: Sendable {
        case key(String)
        case element(Int)
    }

    /// Adds elements to the end of an array in an XML document, and leaves all other bytes as they are.
    ///
    /// The new elements are laid out like the last one, and follow the comments after it.
    ///
    /// - Parameters:
    ///   - elements: The elements.
    ///   - path: The steps from the document's value to the array.
    ///   - document: The whole document, which must be valid.
    /// - Returns: The changed document, or `nil` if it must be rewritten as a whole: if it isn't XML in UTF-8, there is
    ///   no such array, or XML can't represent an element.
    package static func append(
        _ elements: [PropertyListValue], toArrayAt path: [Step], in document: [UInt8]
    ) -> [UInt8]? {
        guard PropertyListFormat.detect(document) == .xml else { return nil }
        return edit(document, in: .xml) { text in
            do throws(ReadingFailure) {
                guard let array = try ArrayOutline(of: text, at: path) else { return nil }
                return array.patch(adding: elements, in: TextLayout(text, in: .xml)).map { [$0] }
            } catch {
                return nil
            }
        }
    }
}

/// The places in an array of an XML document at which elements can be added.
private struct ArrayOutline {
    /// The range of the array, with its tags.
    let range: Range<Int>
    /// The offset of the closing tag; `nil` if the array is an empty element, such as `<array/>`.
    let closing: Int?
    /// The offset of the last element; `nil` if there is none.
    private(set) var last: Int?

    /// Finds an array; fails if there is none at the path.
    init?(of text: UnsafeBufferPointer<UInt8>, at path: [TextSplice.Step]) throws(ReadingFailure) {
        var scanner = XMLScanner(text)
        try scanner.skipMisc()
        try scanner.skipDocumentType()
        try scanner.skipMisc()
        let beginning = scanner.offset
        if scanner.skip("<"), scanner.elementName() == .plist {
            guard try !scanner.endOfOpeningTag() else { return nil }
            try scanner.skipMisc()
        } else {
            scanner.offset = beginning
        }
        for step in path {
            guard try scanner.enter(step) else { return nil }
        }
        let start = scanner.offset
        guard scanner.skip("<"), scanner.elementName() == .array else { return nil }
        if try scanner.endOfOpeningTag() {
            (range, closing) = (start..<scanner.offset, nil)
            return
        }
        while true {
            try scanner.skipMisc()
            let position = scanner.offset
            if scanner.skip("</") {
                scanner.offset = position
                try scanner.closingTag(of: .array)
                (range, closing) = (start..<scanner.offset, position)
                return
            }
            try scanner.skipValue()
            last = position
        }
    }

    /// Returns a patch that adds elements; `nil` if XML can't represent one.
    func patch(adding elements: [PropertyListValue], in layout: TextLayout) -> TextSplice.Patch? {
        let outer = layout.margin(before: range.lowerBound)
        let lastLine = last.flatMap { layout.indentation(before: $0) }.map { Array(layout.text[$0]) }
        let margin = lastLine ?? outer + Array("\t".utf8)
        let unit = margin.starts(with: outer) ? Array(margin.dropFirst(outer.count)) : []
        let fragment = FragmentLayout(
            margin: margin, unit: unit.isEmpty ? Array("\t".utf8) : unit, lineEnd: layout.lineEnd)
        var bytes: [UInt8] = []
        for element in elements {
            var writer = XMLWriter()
            guard let text = try? writer.write(element, within: fragment) else { return nil }
            bytes += margin + text + layout.lineEnd
        }
        guard let closing else {
            let opening: [UInt8] = Array("<array>".utf8) + layout.lineEnd
            let end: [UInt8] = outer + Array("</array>".utf8)
            return TextSplice.Patch(range: range, bytes: opening + bytes + end)
        }
        if let line = layout.indentation(before: closing) {
            return TextSplice.Patch(range: line.lowerBound..<line.lowerBound, bytes: bytes)
        }
        // The closing tag shares its line with the last element, or with the opening tag.
        return TextSplice.Patch(range: closing..<closing, bytes: layout.lineEnd + bytes + outer)
    }
}

extension XMLScanner {
    /// Moves from a container's opening tag to that of a value in it.
    ///
    /// - Returns: `false` if there is no such value.
    fileprivate mutating func enter(_ step: TextSplice.Step) throws(ReadingFailure) -> Bool {
        guard skip("<"), let container = elementName(), try !endOfOpeningTag() else { return false }
        var index = 0
        while true {
            try skipMisc()
            switch step {
            case .element(let wanted):
                guard container == .array, !isAtClosingTag() else { return false }
                if index == wanted { return true }
                index += 1
            case .key(let wanted):
                guard container == .dict, skip("<"), elementName() == .key else { return false }
                let key = try endOfOpeningTag() ? "" : String(decoding: text(of: .key), as: UTF8.self)
                try skipMisc()
                if key == wanted { return true }
            }
            try skipValue()
        }
    }

    /// Returns whether the cursor is at a closing tag.
    private mutating func isAtClosingTag() -> Bool {
        let position = offset
        defer { offset = position }
        return skip("</")
    }
}
