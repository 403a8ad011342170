import PropertyList

/// A check that a splice makes its edits and keeps all other values of the document.
package enum SpliceCheck {
    private static let edits: [String: PropertyListValue?] = [
        "a": "x", "Key": nil, "k": [["k": .data([1, 2])]], "\u{E9}": "é<&\"\n",
    ]

    /// Edits without containers, which can't be spliced into a binary document.
    private static let scalars: [String: PropertyListValue?] = ["a": "x", "Key": nil, "k": 1, "\u{E9}": "é<&\"\n"]

    /// Checks splices of a document, and of one that is built from the same bytes.
    static func check(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        _ = try splices(bytes)
        _ = try splices(TangledDocument(choosing: bytes).bytes)
    }

    /// Checks a splice of a document; returns whether there was one, or `nil` if the document isn't a dictionary.
    package static func splices(_ bytes: [UInt8]) throws(FuzzTarget.Finding) -> Bool? {
        guard let document = try? PropertyListDocument(reading: bytes, limits: PropertyListLimits()),
            case .dictionary(var expected) = document.value
        else {
            // There is no expected result, but it must do no harm.
            _ = TextSplice.splice(edits, into: bytes, resultingCount: 4)
            _ = BinarySplice.splice(scalars, into: bytes, resultingCount: 4)
            return nil
        }
        let isBinary = document.format == .binary
        let edits = isBinary ? scalars : edits
        for (key, value) in edits { expected[key] = value }
        let result =
            isBinary
            ? BinarySplice.splice(edits, into: bytes, resultingCount: expected.count)
            : TextSplice.splice(edits, into: bytes, resultingCount: expected.count)
        guard let result else { return false }
        let again: PropertyListDocument
        do throws(PropertyListError) {
            again = try PropertyListDocument(reading: result, limits: PropertyListLimits())
        } catch {
            throw FuzzTarget.Finding(description: "The spliced document can't be read: \(error)")
        }
        guard again.value == .dictionary(expected), again.format == document.format else {
            throw FuzzTarget.Finding(description: "The spliced document reads back as another value.")
        }
        return true
    }
}
