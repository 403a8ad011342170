extension DocumentOutline {
    /// Finds the entries of an XML document.
    ///
    /// - Returns: `false` if the document isn't a dictionary or can't be changed in place.
    /// - Throws: A `ReadingFailure` if a scanned part isn't valid.
    mutating func scanXML(_ text: UnsafeBufferPointer<UInt8>) throws(ReadingFailure) -> Bool {
        var scanner = XMLScanner(text)
        try scanner.skipMisc()
        try scanner.skipDocumentType()
        try scanner.skipMisc()
        var beginning = scanner.offset
        guard scanner.skip("<") else { return false }
        var element = scanner.elementName()
        let hasWrapper = element == .plist
        if hasWrapper {
            guard try !scanner.endOfOpeningTag() else { return false }
            try scanner.skipMisc()
            beginning = scanner.offset
            guard scanner.skip("<") else { return false }
            element = scanner.elementName()
        }
        guard element == .dict else { return false }
        if try scanner.endOfOpeningTag() {
            emptyElement = beginning..<scanner.offset
        } else {
            opening = scanner.offset
            guard try scanXMLEntries(&scanner) else { return false }
        }
        try scanner.skipMisc()
        if hasWrapper { try scanner.closingTag(of: .plist) }
        try scanner.skipToEnd()
        end()
        return true
    }

    private mutating func scanXMLEntries(_ scanner: inout XMLScanner) throws(ReadingFailure) -> Bool {
        while true {
            try scanner.skipMisc()
            let start = scanner.offset
            guard scanner.skip("<"), let element = scanner.elementName() else {
                scanner.offset = start
                try scanner.closingTag(of: .dict)
                return true
            }
            guard element == .key else { return false }
            let key =
                try scanner.endOfOpeningTag()
                ? UnsafeBufferPointer(start: nil, count: 0) : try scanner.text(of: .key)
            let keyEnd = scanner.offset
            try scanner.skipMisc()
            let valueStart = scanner.offset
            try scanner.skipValue()
            let entry = Entry(key: start..<keyEnd, value: valueStart..<scanner.offset, end: scanner.offset)
            // The key's text is in the document or in the scanner's buffer, and is valid until the next text is read.
            guard add(key, at: entry) else { return false }
        }
    }

    /// Finds the entries of an old-style document.
    ///
    /// - Returns: `false` if the document isn't a dictionary or can't be changed in place.
    /// - Throws: A `ReadingFailure` if a scanned part isn't valid.
    mutating func scanOldStyle(_ text: UnsafeBufferPointer<UInt8>) throws(ReadingFailure) -> Bool {
        var scanner = OldStyleScanner(text)
        try scanner.skipSpace()
        hasBraces = scanner.skip(UInt8(ascii: "{"))
        // A strings file has no opening brace and begins with the comments just skipped.
        opening = hasBraces ? scanner.offset : 0
        while true {
            try scanner.skipSpace()
            if hasBraces ? scanner.skip(UInt8(ascii: "}")) : scanner.isAtEnd { break }
            let start = scanner.offset
            guard var key = try scanner.string() else { return false }
            let keyEnd = scanner.offset
            var value = keyEnd..<keyEnd
            try scanner.skipSpace()
            if scanner.skip(UInt8(ascii: "=")) {
                try scanner.skipSpace()
                let valueStart = scanner.offset
                try scanner.skipValue()
                value = valueStart..<scanner.offset
                try scanner.skipSpace()
            }
            guard scanner.skip(UInt8(ascii: ";")) else { return false }
            let entry = Entry(key: start..<keyEnd, value: value, end: scanner.offset)
            guard key.withUTF8({ add($0, at: entry) }) else { return false }
        }
        try scanner.skipSpace()
        // A document that consists only of comments offers no position for a key.
        guard scanner.isAtEnd, hasBraces || count > 0 else { return false }
        end()
        return true
    }
}
