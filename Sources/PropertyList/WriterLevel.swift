/// A container that a writer is in the middle of: writers keep a stack of these in place of recursion.
struct WriterLevel {
    /// Whether it is a dictionary.
    let isDictionary: Bool

    /// A dictionary's keys, in the order in which they are written; an array has none.
    private let keys: [String]
    private let values: [PropertyListValue]

    /// How many values have been begun.
    var next = 0

    init(_ array: [PropertyListValue]) {
        (isDictionary, keys, values) = (false, [], array)
    }

    init(_ dictionary: [String: PropertyListValue]) {
        let order = KeyOrder.sorted(dictionary)
        isDictionary = true
        keys = order.map { dictionary.keys[$0] }
        values = order.map { dictionary.values[$0] }
    }

    /// How many values it holds.
    var count: Int { values.count }

    /// The value at a place.
    subscript(place: Int) -> PropertyListValue { values[place] }

    /// The key at a place; nil in an array.
    func key(at place: Int) -> String? { isDictionary ? keys[place] : nil }
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
