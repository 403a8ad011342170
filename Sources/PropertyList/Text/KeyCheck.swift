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

extension KeyCheck {
    /// Reads a document, and once more with a check where a dictionary has fewer entries than the document has for it.
    ///
    /// - Parameters:
    ///   - refusesEquivalent: Whether equivalent keys are an error; else the last one's value stays.
    ///   - read: Reads the document, and says whether some dictionary had a key more than once.
    /// - Throws: What `read` throws, but for equivalent keys that aren't refused.
    /// - Returns: The value, and whether it lacks equivalent keys that the document has.
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
