import PropertyList

/// A known way in which another reader differs from ours, and a test for it.
struct KnownDifference: Sendable {
    let reason: String
    let holds: @Sendable (ReadingComparison) -> Bool

    /// The other reader accepts what we refuse with a message that contains one of these pieces.
    private static func refused(_ reason: String, _ pieces: String...) -> KnownDifference {
        KnownDifference(reason: reason) { comparison in
            guard let message = comparison.error?.message else { return false }
            return pieces.contains { message.contains($0) }
        }
    }

    /// The other reader refuses what we accept.
    private static func taken(_ reason: String, _ isSo: @escaping @Sendable (ReadingComparison) -> Bool)
        -> KnownDifference
    {
        KnownDifference(reason: reason) { $0.ours != nil && $0.theirs == nil && isSo($0) }
    }

    /// The other reader refuses text that contains one of these pieces.
    private static func taken(_ reason: String, _ pieces: String...) -> KnownDifference {
        taken(reason) { comparison in pieces.contains { comparison.text.contains($0) } }
    }

    /// The other reader returns a different value.
    private static func other(
        _ reason: String, _ isSo: @escaping @Sendable (PropertyListValue, PropertyListValue) -> Bool
    ) -> KnownDifference {
        KnownDifference(reason: reason) { $0.difference.map(isSo) ?? false }
    }

    static func fromFoundation(_ format: PropertyListFormat) -> [KnownDifference] {
        format == .xml ? foundationXML : foundationBinary
    }

    static func fromPython(_ format: PropertyListFormat) -> [KnownDifference] {
        format == .xml ? pythonXML : pythonBinary
    }

    private static let equivalentKeys = refused(
        "one of two keys with the same text in different scalars is dropped, or both are kept", "is the same text as")

    // MARK: Foundation

    private static let lostLetter = other("UTF-16 text without a byte order mark loses its first letter") {
        ours, theirs in
        guard case .string(let ours) = ours, case .string(let theirs) = theirs else { return false }
        return ours.dropFirst() == theirs
    }

    private static let foundationXML = [
        equivalentKeys, lostLetter,
        refused("text after the document is ignored", "expected the end of the document"),
        refused("broken base64 is decoded as far as possible", "does not contain valid base64"),
        refused("a tag ends at its first \">\", even inside quotes", "closing quotation mark", "expected >"),
        refused("references to characters that XML forbids are accepted", "does not allow the referenced character"),
        refused("dates may have more digits or a sign", "does not contain a date"),
        other("months above 13 are January") { ours, theirs in
            guard case .date(let ours) = ours, case .date(let theirs) = theirs else { return false }
            return ours > theirs
        },
        refused(
            "a key is accepted as a value", "expected a value, found <key",
            "expected a value or </array>, found <key"),
        refused("bytes that aren't UTF-8 are read in another encoding", "is not valid UTF-8", "but its bytes are not"),
        refused(
            "numbers are accepted with surrounding text", "does not contain a whole number",
            "does not contain a number"),
        refused("markup after the document is ignored", "the end of the comment is missing"),
        refused("entities after the document are ignored", "expected one of &lt;"),
        KnownDifference(reason: "text that consists only of keys ends at the first token that isn't a key") {
            $0.error?.format == .oldStyle && $0.error?.message.contains("expected a key") == true
        },
        taken("markup in text", "<!--", "<?", "<![CDATA["), taken("empty data elements", "<data/>"),
        taken("attributes that contain \">\" or \"/\"") { $0.text.contains(/<[a-z]+ [^<]*["'][^"']*[>\/][^"']*["']/) },
        KnownDifference(reason: "the document type ends at its first \">\"") {
            $0.text.contains(/<!DOCTYPE[^>]*"[^">]*>/)
        },
    ]

    private static let foundationBinary = [
        equivalentKeys, lostLetter, refused("unpaired surrogates are replaced", "has no partner"),
        other("bytes beyond ASCII are read as Latin-1 even if they are UTF-8") { ours, theirs in
            guard case .string(let ours) = ours, case .string(let theirs) = theirs else { return false }
            return theirs.unicodeScalars.map(\.value).elementsEqual(ours.utf8.map(UInt32.init))
        },
        refused("a 128-bit number is reduced to its lower half", "the number does not fit"),
        refused("another version is accepted", "expected version"),
        refused("sizes beyond eight bytes are accepted", "expected references of", "expected offsets of"),
        refused("a header without anything after it is read as text", "is too short to be complete"),
        KnownDifference(reason: "the first of several equal keys wins, while ours keeps the last one's value") {
            $0.difference != nil && BinaryObjects(of: $0.document.bytes).haveEqualKeys
        },
        taken("a set exists beside the document's objects") { $0.refusal == "a set" },
        taken("invalid offsets of unreferenced objects") { BinaryObjects(of: $0.document.bytes).haveStrayOffset },
        taken("text, because the document no longer starts like a binary one") {
            !$0.document.bytes.starts(with: "bplist0".utf8)
        },
        refused("a count may have any number's marker", "count as an integer"),
        taken("bytes between the offsets and the trailer") { $0.slack != 0 },
        taken("an archive's object number") { "\($0.ours ?? "")".contains("uid(") },
        taken("empty UTF-16 text") {
            // Its count is in the marker or follows it.
            let isSo = $0.document.bytes.contains(0x60) || $0.document.bytes.contains([0x6F, 0x10, 0])
            return isSo && "\($0.ours ?? "")".contains("\"\"")
        },
        KnownDifference(reason: "a damaged list is read as text whose key is its own value, up to the next non-key") {
            $0.ours == nil && $0.theirs == ["bplist00": "bplist00"]
        },
    ]

    // MARK: python

    private static let pythonXML = [
        other("a carriage return, alone or before a line feed, becomes a line feed") { ours, theirs in
            ours.withLineFeeds == theirs.withLineFeeds
        },
        equivalentKeys, refused("invalid characters in base64 are skipped", "does not contain valid base64"),
        refused("a number may have any size", "the number does not fit"),
        refused("dates may be incomplete, or followed by text", "does not contain a date"),
        taken("dates that don't exist") { $0.refusal == "ValueError" && $0.text.contains("<date>") },
        refused(
            "numbers may contain underscores and spaces", "does not contain a whole number",
            "does not contain a number"),
        refused(
            "unexpected text and elements are skipped, and the last value is the document's",
            "expected a value",
            "expected <key>", "expected </"),
        refused("entities that the document type might declare are left out", "expected one of &lt;"),
        taken("XML that is malformed anywhere") { $0.refusal == "ExpatError" },
    ]

    private static let pythonBinary = [
        taken("bytes beyond ASCII in an ASCII string") {
            $0.refusal == "InvalidFileException" && BinaryObjects(of: $0.document.bytes).haveBytesBeyondASCII
        },
        equivalentKeys, refused("a null is accepted", "null objects are not supported"),
        refused(
            "offsets may point anywhere", "the offset table is not within", "the offset of object",
            "is too short to be complete"),
        refused("a number may have any size", "the number does not fit"),
        refused("another version is accepted", "expected version"),
        refused("keys may have any type", "key is not a string"),
        refused("invalid markers are read as data or as a number of some size", "found marker"),
        refused("sizes beyond eight bytes are accepted", "expected references of", "expected offsets of"),
        refused("an object may extend into the offset table", "is not within the input"),
        // plistlib is told that the document is binary.
        KnownDifference(reason: "the header is ignored") {
            !$0.document.bytes.starts(with: "bplist0".utf8)
        },
        taken("dates beyond the year 9999 or before the year 1") { "\($0.ours ?? "")".contains("Z + ") },
    ]
}

extension ReadingComparison {
    /// The number of bytes between a binary document's offset table and its trailer.
    fileprivate var slack: Int {
        let trailer = document.bytes.suffix(32).map(Int.init)
        guard trailer.count == 32 else { return 0 }
        let (count, table) = (Self.number(trailer[8..<16]), Self.number(trailer[24..<32]))
        return document.bytes.count - 32 &- table &- trailer[6] &* count
    }

    private static func number(_ bytes: ArraySlice<Int>) -> Int { bytes.reduce(0) { $0 << 8 | $1 } }
}

extension PropertyListValue {
    /// The value with each line ending in strings and keys replaced by a line feed.
    fileprivate var withLineFeeds: PropertyListValue {
        switch self {
        case .string(let text): .string(text.withLineFeeds)
        case .array(let values): .array(values.map(\.withLineFeeds))
        case .dictionary(let values):
            .dictionary(
                Dictionary(values.map { ($0.withLineFeeds, $1.withLineFeeds) }, uniquingKeysWith: { _, last in last }))
        default: self
        }
    }
}

extension String {
    /// The text with each line ending replaced by a line feed.
    fileprivate var withLineFeeds: String {
        replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    }
}
