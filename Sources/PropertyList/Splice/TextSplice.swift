/// Changes keys of a text property list and leaves all its other bytes as they are: comments, order, indentation, CDATA
/// sections, carriage returns, other writers' spelling of numbers.
///
/// A new value takes the place of the old one. A removed key goes with its line; a comment on a line of its own stays. A
/// new key goes where the order of the keys wants it, or to the end where they have none, and is laid out as its
/// neighbour.
///
/// The document is scanned once, and no values are made of what isn't changed.
///
/// ```swift
/// let text = Array("{ /* mine */ a = 1; }".utf8)
/// TextSplice.splice(["b": "2"], into: text, resultingCount: 2)   // { /* mine */ a = 1; b = 2; }
/// ```
package enum TextSplice {
    /// Changes keys of a document's outermost dictionary.
    ///
    /// - Parameters:
    ///   - edits: The keys to be set, or with `nil` to be removed.
    ///   - document: The whole document, which a reader takes.
    ///   - count: The number of keys that there are afterwards. It tells of keys that come twice, and of those that differ
    ///     only in Unicode normalization, anywhere in the dictionary.
    /// - Returns: The changed document; nil when it has to be written whole: it is binary, or not in UTF-8; its keys aren't
    ///   as many as they should be; or its format can't hold a value, as old-style text can't hold a number.
    package static func splice(
        _ edits: [String: PropertyListValue?], into document: [UInt8], resultingCount count: Int
    ) -> [UInt8]? {
        let format = PropertyListFormat.detect(document)
        guard format != .binary else { return nil }
        let result = document.withUnsafeBufferPointer { document -> [UInt8]? in
            guard let (encoding, mark) = try? TextEncoding.detect(document, format: format), encoding == .utf8 else {
                return nil
            }
            let text = UnsafeBufferPointer(rebasing: document[mark...])
            guard UTF8Validation.firstInvalidOffset(in: text) == nil else { return nil }
            guard let outline = outline(of: text, format, edits), outline.resultingCount == count else { return nil }
            guard let patches = outline.patches(of: text, format) else { return nil }
            return apply(patches, to: text, after: document[..<mark])
        }
        // What is inserted at the beginning may look like another format.
        guard let result, PropertyListFormat.detect(result) == format else { return nil }
        return result
    }

    private static func outline(
        of text: UnsafeBufferPointer<UInt8>, _ format: PropertyListFormat, _ edits: [String: PropertyListValue?]
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
        var place = 0
        for patch in patches.sorted(by: <) {
            // Entries don't overlap, so patches can't either; a document without sense must still do no harm.
            guard patch.range.lowerBound >= place else { return nil }
            output.append(contentsOf: UnsafeBufferPointer(rebasing: text[place..<patch.range.lowerBound]))
            output.append(contentsOf: patch.bytes)
            place = patch.range.upperBound
        }
        output.append(contentsOf: UnsafeBufferPointer(rebasing: text[place...]))
        return output
    }

    /// Bytes that take the place of others.
    struct Patch {
        var range: Range<Int>
        var bytes: [UInt8]
        /// The order of insertions at one place.
        var rank = 0

        static func < (first: Patch, second: Patch) -> Bool {
            (first.range.lowerBound, first.range.upperBound, first.rank)
                < (second.range.lowerBound, second.range.upperBound, second.rank)
        }
    }
}
