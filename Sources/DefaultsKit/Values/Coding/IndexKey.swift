/// An array's index in a coding path.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }

    init?(stringValue: String) { nil }

    init?(intValue: Int) { self.init(intValue) }

    var stringValue: String { "Index \(index)" }
    var intValue: Int? { index }
}

extension [any CodingKey] {
    /// The path as a sentence names it: ` at "window.size[2]"`, nothing for the outermost value.
    var place: String {
        guard !isEmpty else { return "" }
        var text = ""
        for key in self {
            if let key = key as? IndexKey {
                text += "[\(key.index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return " at \"\(text)\""
    }
}
