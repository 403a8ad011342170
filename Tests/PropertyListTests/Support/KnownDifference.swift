import PropertyList

/// A way in which another reader is known to differ from ours, and how to tell it.
struct KnownDifference: Sendable {
    let reason: String
    let holds: @Sendable (ReadingComparison) -> Bool

    /// The other takes what we refuse, in a sentence that has one of these pieces.
    private static func refused(_ reason: String, _ pieces: String...) -> KnownDifference {
        KnownDifference(reason: reason) { comparison in
            guard let message = comparison.error?.message else { return false }
            return pieces.contains { message.contains($0) }
        }
    }

    /// The other refuses what we take.
    private static func taken(_ reason: String, _ isSo: @escaping @Sendable (ReadingComparison) -> Bool)
        -> KnownDifference
    {
        KnownDifference(reason: reason) { $0.ours != nil && $0.theirs == nil && isSo($0) }
    }

    /// The other refuses text that has one of these pieces.
    private static func taken(_ reason: String, _ pieces: String...) -> KnownDifference {
        taken(reason) { comparison in pieces.contains { comparison.text.contains($0) } }
    }

    /// The other takes something else.
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
        "of keys that are the same text in other scalars one is dropped, or both are kept", "is the same text as")

    // MARK: Foundation

    private static let lostLetter = other("of text in UTF-16 without a mark of its order the first letter is lost") {
        ours, theirs in
        guard case .string(let ours) = ours, case .string(let theirs) = theirs else { return false }
        return ours.dropFirst() == theirs
    }

    private static let foundationXML = [
        equivalentKeys, lostLetter,
        refused("what follows the document isn't looked at", "expected the end of the document"),
        refused("broken base64 is read as far as it goes", "holds no correct base64"),
        refused("the end of a tag is its first \">\", whatever the quotes", "closing quotation mark", "expected >"),
        refused("references to what XML forbids are taken", "stands for no character"),
        refused("dates may have more digits, or a sign", "holds no date"),
        other("months above 13 are January") { ours, theirs in
            guard case .date(let ours) = ours, case .date(let theirs) = theirs else { return false }
            return ours > theirs
        },
        refused(
            "a key is a value like any other", "expected a value, found <key",
            "expected a value or </array>, found <key"),
        refused("bytes that aren't UTF-8 are taken in another encoding", "is not valid UTF-8", "but its bytes are not"),
        refused("numbers are taken with what surrounds them", "holds no whole number", "holds no number"),
        refused("markup after the document isn't looked at", "the end of the comment is missing"),
        refused("entities after the document aren't looked at", "expected one of &lt;"),
        KnownDifference(reason: "in text of keys alone what is no key ends it") {
            $0.error?.format == .oldStyle && $0.error?.message.contains("expected a key") == true
        },
        taken("markup in text", "<!--", "<?", "<![CDATA["), taken("data of nothing", "<data/>"),
        taken("attributes with \">\" or \"/\" in them") { $0.text.contains(/<[a-z]+ [^<]*["'][^"']*[>\/][^"']*["']/) },
        KnownDifference(reason: "the document type ends with its first \">\"") {
            $0.text.contains(/<!DOCTYPE[^>]*"[^">]*>/)
        },
    ]

    private static let foundationBinary = [
        equivalentKeys, lostLetter, refused("surrogates without a partner are replaced", "has no partner"),
        other("bytes beyond ASCII are Latin-1 though they are UTF-8") { ours, theirs in
            guard case .string(let ours) = ours, case .string(let theirs) = theirs else { return false }
            return theirs.unicodeScalars.map(\.value).elementsEqual(ours.utf8.map(UInt32.init))
        },
        refused("of a number of 128 bits the lower half is taken", "the number does not fit"),
        refused("another version is taken", "expected version"),
        refused("sizes beyond eight bytes are taken", "expected references of", "expected offsets of"),
        refused("a head that nothing follows is text", "is too short to be whole"),
        KnownDifference(reason: "of equal keys the first one's value is kept, and here the last one's") {
            $0.difference != nil && BinaryObjects(of: $0.document.bytes).haveEqualKeys
        },
        taken("a set is beside the document") { $0.refusal == "a set" },
        taken("offsets of objects that nothing refers to") { BinaryObjects(of: $0.document.bytes).haveStrayOffset },
        taken("a text that is no binary any more") { !$0.document.bytes.starts(with: "bplist0".utf8) },
        refused("a count may have any marker of a number", "count as an integer"),
        taken("bytes between the offsets and the trailer") { $0.slack != 0 },
        taken("an archive's object number") { "\($0.ours ?? "")".contains("uid(") },
        taken("text of nothing in UTF-16") {
            // With its count in the marker, or behind it.
            let isSo = $0.document.bytes.contains(0x60) || $0.document.bytes.contains([0x6F, 0x10, 0])
            return isSo && "\($0.ours ?? "")".contains("\"\"")
        },
        KnownDifference(reason: "a damaged list may be text, of which a key is its own value, up to what is no key") {
            $0.ours == nil && $0.theirs == ["bplist00": "bplist00"]
        },
    ]

    // MARK: python

    private static let pythonXML = [
        other("a carriage return, alone or before a line feed, becomes a line feed") { ours, theirs in
            ours.withLineFeeds == theirs.withLineFeeds
        },
        equivalentKeys, refused("base64 is read past what isn't", "holds no correct base64"),
        refused("the number is as large as it likes", "the number does not fit"),
        refused("dates may lack their end, or go on after it", "holds no date"),
        taken("dates of no existing second") { $0.refusal == "ValueError" && $0.text.contains("<date>") },
        refused("numbers may have underscores and spaces", "holds no whole number", "holds no number"),
        refused(
            "text and elements that mean nothing are passed over, and the last value is the document's",
            "expected a value",
            "expected <key>", "expected </"),
        refused("entities that the document type might name are left out", "expected one of &lt;"),
        taken("what is no well-formed XML is refused in every part") { $0.refusal == "ExpatError" },
    ]

    private static let pythonBinary = [
        taken("bytes beyond ASCII in an ASCII string") {
            $0.refusal == "InvalidFileException" && BinaryObjects(of: $0.document.bytes).haveBytesBeyondASCII
        },
        equivalentKeys, refused("a null is taken", "a null is not accepted"),
        refused(
            "offsets may lie anywhere", "the offset table does not lie", "the offset of object",
            "is too short to be whole"),
        refused("the number is as large as it likes", "the number does not fit"),
        refused("another version is taken", "expected version"),
        refused("keys may be anything", "key is not a string"),
        refused("markers that mean nothing here mean data, or a number of some size", "found marker"),
        refused("sizes beyond eight bytes are taken", "expected references of", "expected offsets of"),
        refused("an object may reach into the offsets", "does not lie in the input"),
        // It was told that the document is binary.
        KnownDifference(reason: "the first letters aren't looked at") {
            !$0.document.bytes.starts(with: "bplist0".utf8)
        },
        taken("dates beyond the year 9999, or before 1") { "\($0.ours ?? "")".contains("Z + ") },
    ]
}

extension ReadingComparison {
    /// How many bytes a binary document has between its table of offsets and its trailer.
    fileprivate var slack: Int {
        let trailer = document.bytes.suffix(32).map(Int.init)
        guard trailer.count == 32 else { return 0 }
        let (count, table) = (Self.number(trailer[8..<16]), Self.number(trailer[24..<32]))
        return document.bytes.count - 32 &- table &- trailer[6] &* count
    }

    private static func number(_ bytes: ArraySlice<Int>) -> Int { bytes.reduce(0) { $0 << 8 | $1 } }
}

extension PropertyListValue {
    /// The value with each end of a line, in strings and in keys, made a line feed.
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
    /// The text with each end of a line made a line feed.
    fileprivate var withLineFeeds: String {
        replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    }
}
