import PropertyList

/// Property lists that differ from another in one place.
enum Tampering {
    private static let replacements: [PropertyListValue] = [
        .uid(0), .uid(1), .uid(2), .uid(9_999), 5, -1, "text", .data([0, 1]), [], [.uid(1)], [5], [:], ["a": 1], true,
        1.5,
    ]

    /// Each value replaced by each of some others, and each entry left out.
    static func each(of value: PropertyListValue) -> [PropertyListValue] {
        var all = replacements
        switch value {
        case .array(let values):
            for index in values.indices {
                for other in each(of: values[index]) {
                    var copy = values
                    copy[index] = other
                    all.append(.array(copy))
                }
            }
        case .dictionary(let values):
            for (key, entry) in values {
                var copy = values
                copy[key] = nil
                all.append(.dictionary(copy))
                for other in each(of: entry) {
                    copy[key] = other
                    all.append(.dictionary(copy))
                }
            }
        default: break
        }
        return all
    }
}
