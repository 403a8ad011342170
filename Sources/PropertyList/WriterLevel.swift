/// A container that a writer is in the middle of: writers keep a stack of these in place of recursion.
struct WriterLevel {
    /// Whether it is a dictionary.
    let isDictionary: Bool

    /// How many values it holds.
    let count: Int

    /// How many values have been begun.
    var next = 0

    /// An array's values.
    private let values: [PropertyListValue]
    /// A dictionary's entries, and in which order they are written.
    private let entries: [(key: String, value: PropertyListValue)]
    private let order: [Int]

    init(_ array: [PropertyListValue]) {
        (isDictionary, count, values, entries, order) = (false, array.count, array, [], [])
    }

    init(_ dictionary: [String: PropertyListValue]) {
        entries = Array(dictionary)
        order = KeyOrder.sorted(entries)
        (isDictionary, count, values) = (true, dictionary.count, [])
    }

    /// The value at a place; a dictionary's in the order of its keys.
    subscript(place: Int) -> PropertyListValue { isDictionary ? entries[order[place]].value : values[place] }

    /// The key at a place; nil in an array.
    func key(at place: Int) -> String? { isDictionary ? entries[order[place]].key : nil }
}

extension [WriterLevel] {
    /// Opens a container, unless too many are open.
    mutating func open(_ level: WriterLevel, format: PropertyListFormat) throws(PropertyListError) {
        try checkRoom(format: format)
        append(level)
    }

    /// Makes sure that one more container may be open.
    func checkRoom(format: PropertyListFormat) throws(PropertyListError) {
        let limit = PropertyListLimits().depth
        guard count < limit else {
            throw PropertyListError(
                code: .tooDeep, format: format, keyPath: keyPath,
                message: "more than \(limit) containers are nested, which no reader would accept")
        }
    }

    /// The value being written, as `Key.Key[index]`.
    var keyPath: String {
        var path = ""
        for level in self where level.next > 0 {
            if let key = level.key(at: level.next - 1) {
                path += (path.isEmpty ? "" : ".") + key
            } else {
                path += "[\(level.next - 1)]"
            }
        }
        return path
    }
}
