import PropertyList

/// What is spliced into a document is read with all else that was in it.
enum SpliceCheck {
    private static let edits: [String: PropertyListValue?] = [
        "a": "x", "Key": nil, "k": [["k": .data([1, 2])]], "\u{E9}": "é<&\"\n",
    ]

    static func check(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        guard let document = try? PropertyListDocument(reading: bytes, limits: PropertyListLimits()),
            case .dictionary(var expected) = document.value
        else {
            // Nothing is expected of it, other than no harm.
            _ = TextSplice.splice(edits, into: bytes, resultingCount: 4)
            return
        }
        for (key, value) in edits { expected[key] = value }
        guard let result = TextSplice.splice(edits, into: bytes, resultingCount: expected.count) else { return }
        let again: PropertyListDocument
        do throws(PropertyListError) {
            again = try PropertyListDocument(reading: result, limits: PropertyListLimits())
        } catch {
            throw FuzzTarget.Finding(description: "What was spliced can't be read: \(error)")
        }
        guard again.value == .dictionary(expected), again.format == document.format else {
            throw FuzzTarget.Finding(description: "What was spliced is read as something else.")
        }
    }
}
