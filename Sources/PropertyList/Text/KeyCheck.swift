/// A check for dictionary keys that Swift considers equal although their Unicode scalars differ.
///
/// For example, "é" can be one scalar or two; a dictionary would retain only one of the two keys. A reader counts the
/// entries of each dictionary, which costs nothing. If entries are missing, it reads the document again with this
/// check: the cause may be such keys, or a repeated key, which is allowed.
struct KeyCheck {
    /// The keys seen so far in each open dictionary.
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
                + "dictionary, in different Unicode scalars; rename or remove one of them")
    }
}

extension KeyCheck {
    /// Reads a document, then reads it again with a check if a dictionary lost entries.
    ///
    /// - Parameters:
    ///   - refusesEquivalent: Whether equivalent keys are an error; if not, the last one's value wins.
    ///   - read: A function that reads the document and reports whether any dictionary contained a key more than once.
    /// - Throws: The error of `read`, unless it is about equivalent keys and they are allowed.
    /// - Returns: The value, and whether equivalent keys of the document were merged in it.
    static func read(
        refusesEquivalent: Bool,
        _ read: (KeyCheck?) throws(ReadingFailure) -> (value: PropertyListValue, hasEqualKeys: Bool)
    ) throws(ReadingFailure) -> (value: PropertyListValue, hasEquivalentKeys: Bool) {
        let (value, hasEqualKeys) = try read(nil)
        guard hasEqualKeys else { return (value, false) }
        do throws(ReadingFailure) {
            return (try read(KeyCheck()).value, false)
        } catch {
            guard error.code == .equivalentKeys, !refusesEquivalent else { throw error }
            return (value, true)
        }
    }
}
