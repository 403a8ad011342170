/// A container that a writer is in the middle of: writers keep a stack of these in place of recursion.
struct WriterLevel {
    private enum Content {
        case array([PropertyListValue])
        case dictionary([String: PropertyListValue], order: [[String: PropertyListValue].Index])
    }

    private let content: Content

    /// How many values it holds.
    let count: Int

    /// How many values have been begun.
    var next = 0

    init(_ array: [PropertyListValue]) {
        content = .array(array)
        count = array.count
    }

    init(_ dictionary: [String: PropertyListValue]) {
        content = .dictionary(dictionary, order: KeyOrder.sorted(dictionary))
        count = dictionary.count
    }

    /// Whether it is a dictionary.
    var isDictionary: Bool {
        if case .dictionary = content { true } else { false }
    }

    /// The value at a place; a dictionary's in the order of its keys.
    subscript(place: Int) -> PropertyListValue {
        switch content {
        case .array(let values): values[place]
        case .dictionary(let values, let order): values.values[order[place]]
        }
    }

    /// The key at a place; nil in an array.
    func key(at place: Int) -> String? {
        guard case .dictionary(let values, let order) = content else { return nil }
        return values.keys[order[place]]
    }
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
