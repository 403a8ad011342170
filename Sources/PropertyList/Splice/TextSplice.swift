/// An editor that changes keys of a text property list and leaves all other bytes as they are.
///
/// It preserves comments, order, indentation, CDATA sections, carriage returns and the spelling of numbers by other
/// writers. A new value replaces the old one. Removing a key removes its line, but not a comment on a separate line. A
/// new key is inserted in sorted order, or at the end if the keys aren't sorted, and is laid out like its neighbor.
///
/// The document is scanned once, and no values are created for unchanged entries.
///
/// ```swift
/// let text = Array("{ /* mine */ a = 1; }".utf8)
/// TextSplice.splice(["b": "2"], into: text, resultingCount: 2)   // { /* mine */ a = 1; b = 2; }
/// ```
package enum TextSplice {
    /// Changes keys of a document's outermost dictionary.
    ///
    /// - Parameters:
    ///   - edits: The keys to set, or to remove if the value is `nil`.
    ///   - document: The whole document, which must be valid.
    ///   - count: The expected number of keys after the change. A different count reveals duplicate keys and keys that
    ///     differ only in Unicode normalization, anywhere in the dictionary.
    /// - Returns: The changed document, or `nil` if it must be rewritten as a whole: if it is binary, isn't UTF-8,
    ///   doesn't end up with `count` keys, or is in a format that can't represent a value (old-style text can't
    ///   represent numbers).
    package static func splice(
        _ edits: [String: PropertyListValue?], into document: [UInt8], resultingCount count: Int
    ) -> [UInt8]? {
        let format = PropertyListFormat.detect(document)
        guard format != .binary else { return nil }
        return edit(document, in: format) { text in
            guard let outline = outline(of: text, in: format, for: edits), outline.resultingCount == count
            else { return nil }
            return outline.patches(of: text, in: format)
        }
    }

    /// Applies patches to a document.
    ///
    /// - Parameters:
    ///   - document: The whole document.
    ///   - format: The document's format.
    ///   - patches: Returns the patches of the text, which follows a byte order mark, if any; `nil` for none.
    /// - Returns: The changed document; `nil` if it isn't UTF-8 or there are no patches.
    static func edit(
        _ document: [UInt8], in format: PropertyListFormat, patches: (UnsafeBufferPointer<UInt8>) -> [Patch]?
    ) -> [UInt8]? {
        let result = document.withUnsafeBufferPointer { document -> [UInt8]? in
            guard let (encoding, mark) = try? TextEncoding.detect(document, format: format), encoding == .utf8 else {
                return nil
            }
            let text = UnsafeBufferPointer(rebasing: document[mark...])
            guard UTF8Validation.firstInvalidOffset(in: text) == nil else { return nil }
            return patches(text).flatMap { apply($0, to: text, after: document[..<mark]) }
        }
        // A key inserted at the beginning may make the document look like another format.
        guard let result, PropertyListFormat.detect(result) == format else { return nil }
        return result
    }

    private static func outline(
        of text: UnsafeBufferPointer<UInt8>, in format: PropertyListFormat, for edits: [String: PropertyListValue?]
    ) -> DocumentOutline? {
        do throws(ReadingFailure) {
            var outline = DocumentOutline(edits)
            let isWhole = try format == .xml ? outline.scanXML(text) : outline.scanOldStyle(text)
            return isWhole ? outline : nil
        } catch {
            return nil
        }
    }

    private static func apply(
        _ patches: [Patch], to text: UnsafeBufferPointer<UInt8>, after mark: Slice<UnsafeBufferPointer<UInt8>>
    ) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(mark.count + text.count + patches.reduce(0) { $0 + $1.bytes.count })
        output.append(contentsOf: mark)
        var position = 0
        for patch in patches.sorted(by: <) {
            // Entries don't overlap, so patches can't either, but a malformed document must not crash the process.
            guard patch.range.lowerBound >= position else { return nil }
            output.append(contentsOf: UnsafeBufferPointer(rebasing: text[position..<patch.range.lowerBound]))
            output.append(contentsOf: patch.bytes)
            position = patch.range.upperBound
        }
        output.append(contentsOf: UnsafeBufferPointer(rebasing: text[position...]))
        return output
    }

    /// Bytes that replace a range of the document.
    struct Patch {
        var range: Range<Int>
        var bytes: [UInt8]
        /// The order among insertions at the same offset.
        var rank = 0

        static func < (first: Patch, second: Patch) -> Bool {
            (first.range.lowerBound, first.range.upperBound, first.rank)
                < (second.range.lowerBound, second.range.upperBound, second.rank)
        }
    }
}
