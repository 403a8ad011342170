#if Configuration
import Configuration
import PropertyList

/// A configuration key that may be a path into dictionaries.
struct SearchedKey: Sendable {
    /// The components, joined by ".".
    let name: String
    /// The top-level keys to look up: the whole name, then its prefixes before each ".", longest first.
    let candidates: [String]

    init(_ key: AbsoluteConfigKey) {
        name = key.components.joined(separator: ".")
        candidates = [name] + Self.splits(name).map(\.first)
    }

    /// Finds the key's value in the values of a search list.
    func find(in values: [String: PropertyListValue]) -> PropertyListValue? { Self.find(name, in: values) }

    /// The number of attempts doubles with each "." at most, and the program chooses the name.
    private static func find(_ name: String, in values: [String: PropertyListValue]) -> PropertyListValue? {
        if let value = values[name] { return value }
        for (first, rest) in splits(name) {
            if case .dictionary(let inner)? = values[first], let value = find(rest, in: inner) { return value }
        }
        return nil
    }

    /// Returns the parts before and after each ".", starting with the longest first part.
    private static func splits(_ name: String) -> some Sequence<(first: String, rest: String)> {
        name.indices.reversed().lazy.filter { name[$0] == "." }
            .map { (String(name[..<$0]), String(name[name.index(after: $0)...])) }
    }
}
#endif
