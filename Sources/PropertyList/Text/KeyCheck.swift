/// Finds a key that Swift takes for an earlier one of its dictionary, though it is spelt in other Unicode scalars: "é" as
/// one and as two.
///
/// Only one of the two would stay. A reader counts the entries of each dictionary, which costs nothing, and reads a
/// document once more with this when some are missing: they may be such keys, or the same key twice, which is allowed.
struct KeyCheck {
    /// The keys of the open dictionaries so far.
    private var levels: [Set<String>] = []

    mutating func open() {
        levels.append([])
    }

    mutating func close() {
        levels.removeLast()
    }

    mutating func add(_ key: String, at offset: Int) throws(ReadingFailure) {
        guard let last = levels.indices.last else { return }
        let (isNew, earlier) = levels[last].insert(key)
        guard !isNew, !earlier.unicodeScalars.elementsEqual(key.unicodeScalars) else { return }
        throw ReadingFailure(
            code: .equivalentKeys, offset: offset,
            message: "the key \"\(key.spelt())\" is the same text as \"\(earlier.spelt())\", an earlier key of the "
                + "dictionary, in other Unicode scalars; rename or remove one of them")
    }
}
