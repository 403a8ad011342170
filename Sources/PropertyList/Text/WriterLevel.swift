/// A container that is being written.
///
/// Writers use a stack of levels instead of recursion.
struct WriterLevel {
    let isDictionary: Bool

    /// The number of values in the container.
    let count: Int

    /// The number of values begun so far.
    var next = 0

    /// An array's values.
    private let values: [PropertyListValue]
    /// A dictionary's entries; `order` is the order in which they are written.
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

    /// The value at an index; for a dictionary, in the order of its keys.
    subscript(position: Int) -> PropertyListValue { isDictionary ? entries[order[position]].value : values[position] }

    /// Returns the key at an index; `nil` in an array.
    func key(at position: Int) -> String? { isDictionary ? entries[order[position]].key : nil }
}

extension [WriterLevel] {
    /// Opens a container, or throws an error if too many are open.
    mutating func open(_ level: WriterLevel, format: PropertyListFormat) throws(PropertyListError) {
        try checkRoom(format: format)
        append(level)
    }

    /// Checks that one more container may be opened.
    func checkRoom(format: PropertyListFormat) throws(PropertyListError) {
        let limit = PropertyListLimits().depth
        guard count < limit else {
            throw PropertyListError(
                code: .tooDeep, format: format, keyPath: keyPath,
                message: "containers are nested more than \(limit) levels deep, which no reader accepts")
        }
    }

    /// The path of the value being written, as `Key.Key[index]`.
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
