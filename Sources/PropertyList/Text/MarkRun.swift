/// A limit on the number of consecutive combining marks in a key.
///
/// To hash and compare strings, Swift normalizes them and sorts each run of marks by insertion. Every operation on a
/// key with 80,000 marks (160 KB) takes five seconds.
enum MarkRun {
    /// The limit, which is more than any writing system uses.
    static let limit = 128

    /// Refuses a key that exceeds the limit.
    @inline(__always)
    static func check(_ key: borrowing String, at offset: Int) throws(ReadingFailure) {
        // A mark takes at least two bytes, so most keys need no check.
        if key.utf8.count > 2 * limit { try checkLong(key, at: offset) }
    }

    @inline(never)
    private static func checkLong(_ key: borrowing String, at offset: Int) throws(ReadingFailure) {
        let key = copy key
        guard key.hasOverlongMarkRun else { return }
        throw ReadingFailure(
            code: .unsupported, offset: offset,
            message: "the key \"\(key.spelt())\" has more than \(limit) combining marks in a row")
    }

    /// Returns whether normalization sorts a scalar or its decomposition.
    fileprivate static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x300: false
        // Their combining class is 0, but each decomposes into two marks.
        case 0xF73, 0xF75, 0xF81: true
        default: scalar.properties.canonicalCombiningClass != .notReordered
        }
    }
}

extension String {
    /// Whether the text has more consecutive combining marks than a key may have.
    package var hasOverlongMarkRun: Bool {
        guard utf8.count > 2 * MarkRun.limit else { return false }
        var run = 0
        for scalar in unicodeScalars {
            run = MarkRun.isMark(scalar) ? run + 1 : 0
            if run > MarkRun.limit { return true }
        }
        return false
    }
}

extension PropertyListValue {
    /// Whether any dictionary in the value, at any depth, has a key that readers refuse.
    package var hasUnreadableKey: Bool {
        switch self {
        case .array(let elements): elements.contains(where: \.hasUnreadableKey)
        case .dictionary(let entries):
            entries.contains { $0.key.hasOverlongMarkRun || $0.value.hasUnreadableKey }
        case .string, .integer, .unsigned, .real, .real32, .boolean, .date, .data, .uid: false
        }
    }
}
