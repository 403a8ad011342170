/// Finds comments in text property lists.
package enum TextComments {
    /// Whether a document has comments, so that more than its values is lost when it is written whole.
    ///
    /// What only looks like one, as inside a CDATA section, counts as well.
    ///
    /// - Parameters:
    ///   - document: The bytes, in any encoding in which ASCII can be told.
    ///   - format: The format; a binary document has none.
    /// - Returns: Whether there is one.
    package static func exist(in document: [UInt8], _ format: PropertyListFormat) -> Bool {
        // Of UTF-16 that is what tells ASCII from other text.
        let text = document.contains(0) ? document.filter { $0 != 0 } : document
        switch format {
        case .xml: return text.indices.contains { text[$0] == UInt8(ascii: "<") && text[$0...].starts(with: opening) }
        case .oldStyle: return hasOldStyleComment(text)
        default: return false
        }
    }

    private static let opening = Array("<!--".utf8)

    private static func hasOldStyleComment(_ text: [UInt8]) -> Bool {
        var quote: UInt8?
        var index = 0
        while index < text.count {
            let byte = text[index]
            if let open = quote {
                if byte == UInt8(ascii: "\\") { index += 1 } else if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: "/"), index + 1 < text.count,
                index == 0 || !OldStyleScanner.isUnquoted(text[index - 1]),
                text[index + 1] == UInt8(ascii: "/") || text[index + 1] == UInt8(ascii: "*")
            {
                return true
            }
            index += 1
        }
        return false
    }
}
