/// A search for comments in text property lists.
package enum TextComments {
    /// Returns whether a document contains comments, which would be lost if it were rewritten as a whole.
    ///
    /// Text that merely looks like a comment, such as text in a CDATA section, also counts.
    ///
    /// - Parameters:
    ///   - document: The bytes, in any encoding in which ASCII is recognizable.
    ///   - format: The format; a binary document has no comments.
    /// - Returns: Whether there is a comment.
    package static func exist(in document: [UInt8], _ format: PropertyListFormat) -> Bool {
        // UTF-16 text that contains only ASCII characters becomes plain ASCII without its zero bytes.
        let text = document.contains(0) ? document.filter { $0 != 0 } : document
        switch format {
        case .xml: return text.indices.contains { text[$0] == UInt8(ascii: "<") && text[$0...].starts(with: opening) }
        case .oldStyle: return hasOldStyleComment(text)
        default: return false
        }
    }

    /// Returns whether a document is old-style text without a value: nothing but space and comments.
    package static func areAll(of document: [UInt8]) -> Bool {
        let text = document.contains(0) ? document.filter { $0 != 0 } : document
        return text.withUnsafeBufferPointer { text in
            var scanner = OldStyleScanner(text)
            do throws(ReadingFailure) {
                try scanner.skipSpace()
            } catch {
                return false
            }
            return scanner.isAtEnd
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
