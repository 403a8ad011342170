extension DocumentOutline {
    /// Returns the patches that make the edits, in no particular order.
    ///
    /// - Parameters:
    ///   - text: The document that was scanned.
    ///   - format: The document's format.
    /// - Returns: The patches; `nil` if the format can't represent a value.
    func patches(
        of text: UnsafeBufferPointer<UInt8>, in format: PropertyListFormat
    ) -> [TextSplice.Patch]? {
        let layout = TextLayout(text, in: format)
        let unit = unit(layout)
        var patches: [TextSplice.Patch] = []
        var added: [Edit] = []
        for edit in edits {
            switch (edit.found, edit.value) {
            case (nil, nil): break
            case (nil, _?): added.append(edit)
            case (let entry?, nil): patches.append(removal(of: entry, in: layout))
            case (let entry?, let value?):
                let line = layout.indentation(before: entry.value.lowerBound) == nil ? entry.key : entry.value
                let fragment = FragmentLayout(
                    margin: layout.margin(before: line.lowerBound), unit: unit, lineEnd: layout.lineEnd)
                guard var bytes = Self.bytes(of: value, in: format, within: fragment) else { return nil }
                if entry.value.isEmpty { bytes = Array(" = ".utf8) + bytes }
                if format == .oldStyle, let last = bytes.last, OldStyleScanner.isUnquoted(last),
                    entry.value.upperBound < text.count, OldStyleScanner.isUnquoted(text[entry.value.upperBound])
                {
                    // A comment directly follows the old, quoted value. Without a space, it would become part of the
                    // new, unquoted word.
                    bytes.append(UInt8(ascii: " "))
                }
                patches.append(TextSplice.Patch(range: entry.value, bytes: bytes))
            }
        }
        guard let insertions = insertions(of: added, in: layout, indentedBy: unit) else { return nil }
        return patches + insertions
    }

    /// Returns a patch that removes an entry with its lines, or only the entry if it shares them with other text.
    private func removal(of entry: Entry, in layout: TextLayout) -> TextSplice.Patch {
        var range = entry.key.lowerBound..<entry.end
        if let margin = layout.indentation(before: range.lowerBound),
            let next = layout.nextLine(after: range.upperBound)
        {
            range = margin.lowerBound..<next
        }
        return TextSplice.Patch(range: range, bytes: [])
    }

    // MARK: New keys

    private func insertions(of added: [Edit], in layout: TextLayout, indentedBy unit: [UInt8]) -> [TextSplice.Patch]? {
        var patches: [TextSplice.Patch] = []
        for (rank, edit) in added.enumerated() {
            guard let value = edit.value else { continue }
            let neighbour = edit.predecessor ?? first
            let hasLines = neighbour.map { layout.indentation(before: $0.key.lowerBound) != nil } ?? true
            let margin = neighbour.map { layout.margin(before: $0.key.lowerBound) } ?? outerMargin(layout) + unit
            let fragment = FragmentLayout(margin: margin, unit: unit, lineEnd: layout.lineEnd)
            guard let key = Self.bytes(ofKey: edit.name, in: layout.format),
                let value = Self.bytes(of: value, in: layout.format, within: fragment)
            else { return nil }
            let entry =
                key + separator(after: neighbour, in: layout, margin: margin, hasLines: hasLines) + value
                + (layout.format == .xml ? [] : [UInt8(ascii: ";")])
            let position = edit.predecessor?.end ?? opening
            if emptyElement != nil {
                patches.append(TextSplice.Patch(range: 0..<0, bytes: margin + entry + layout.lineEnd, rank: rank))
            } else if edit.predecessor == nil, hasLines, !hasBraces, let first {
                // The comments directly before the first entry belong to it.
                let line = layout.lineBehindHead(before: first.key.lowerBound)
                patches.append(
                    TextSplice.Patch(range: line..<line, bytes: margin + entry + layout.lineEnd, rank: rank))
            } else if !hasLines {
                let space = layout.format == .xml ? [] : [UInt8(ascii: " ")]
                patches.append(TextSplice.Patch(range: position..<position, bytes: space + entry, rank: rank))
            } else if let line = layout.nextLine(after: position, passesComments: true) {
                patches.append(
                    TextSplice.Patch(range: line..<line, bytes: margin + entry + layout.lineEnd, rank: rank))
            } else {
                // At the beginning of the document and in an empty dictionary, a line ending must follow as well.
                let before = position == 0 ? [] : layout.lineEnd
                let behind = position == 0 || (count == 0 && rank == added.count - 1) ? layout.lineEnd : []
                patches.append(
                    TextSplice.Patch(range: position..<position, bytes: before + margin + entry + behind, rank: rank))
            }
        }
        guard let emptyElement, !patches.isEmpty else { return patches }
        // Expand `<dict/>` into an element with an opening and a closing tag.
        let bytes =
            Array("<dict>".utf8) + layout.lineEnd + patches.flatMap(\.bytes) + outerMargin(layout)
            + Array("</dict>".utf8)
        return [TextSplice.Patch(range: emptyElement, bytes: bytes)]
    }

    /// Returns the bytes between a key and its value, as in a neighboring entry.
    private func separator(
        after neighbour: Entry?, in layout: TextLayout, margin: [UInt8], hasLines: Bool
    ) -> [UInt8] {
        let gap = neighbour.map { Array(layout.text[$0.key.upperBound..<$0.value.lowerBound]) }
        guard layout.format == .xml else { return gap == [UInt8(ascii: "=")] ? [UInt8(ascii: "=")] : Array(" = ".utf8) }
        if let gap, gap.allSatisfy(\.isPropertyListWhitespace) { return gap }
        return hasLines ? layout.lineEnd + margin : []
    }

    // MARK: Indentation

    /// Returns the indentation of the line on which the dictionary begins.
    private func outerMargin(_ layout: TextLayout) -> [UInt8] {
        if let emptyElement { return layout.margin(before: emptyElement.lowerBound) }
        var start = max(opening - 1, 0)
        let mark = UInt8(ascii: layout.format == .xml ? "<" : "{")
        while start > 0, layout.text[start] != mark { start -= 1 }
        return layout.margin(before: start)
    }

    /// Returns the indentation that each container adds for its contents, taken from the dictionary's first key.
    private func unit(_ layout: TextLayout) -> [UInt8] {
        let usual = Array((layout.format == .xml ? "\t" : "    ").utf8)
        guard let first else { return usual }
        let inner = layout.margin(before: first.key.lowerBound)
        let outer = outerMargin(layout)
        let unit = inner.starts(with: outer) ? Array(inner.dropFirst(outer.count)) : inner
        return unit.isEmpty ? usual : unit
    }

    // MARK: Text

    private static func bytes(
        of value: PropertyListValue, in format: PropertyListFormat, within layout: FragmentLayout
    ) -> [UInt8]? {
        guard format == .xml else {
            guard value.isOldStyleText else { return nil }
            var writer = OldStyleWriter()
            return try? writer.write(value, within: layout)
        }
        var writer = XMLWriter()
        return try? writer.write(value, within: layout)
    }

    private static func bytes(ofKey key: String, in format: PropertyListFormat) -> [UInt8]? {
        guard format == .xml else {
            var writer = OldStyleWriter()
            return try? writer.write(.string(key), within: FragmentLayout(margin: [], unit: [], lineEnd: []))
        }
        var writer = XMLWriter()
        return try? writer.write(key: key)
    }
}

extension PropertyListValue {
    /// Whether old-style text can represent the value exactly: strings and data, and containers of these.
    fileprivate var isOldStyleText: Bool {
        switch self {
        case .string, .data: true
        case .array(let elements): elements.allSatisfy(\.isOldStyleText)
        case .dictionary(let entries): entries.values.allSatisfy(\.isOldStyleText)
        case .integer, .unsigned, .real, .real32, .boolean, .date, .uid: false
        }
    }
}
