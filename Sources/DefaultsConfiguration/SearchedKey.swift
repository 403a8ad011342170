#if Configuration
import Configuration
import PropertyList

/// A key of configuration among keys whose values may be dictionaries.
struct SearchedKey: Sendable {
    /// The components, joined by ".".
    let name: String
    /// The keys that the search can begin with: the name, then what of it is before each ".", the longest first.
    let candidates: [String]

    init(_ key: AbsoluteConfigKey) {
        name = key.components.joined(separator: ".")
        candidates = [name] + Self.splits(name).map(\.first)
    }

    /// Finds the value among those of a search's keys.
    func find(in values: [String: PropertyListValue]) -> PropertyListValue? {
        Self.find(name, in: values)
    }

    private static func find(_ name: String, in values: [String: PropertyListValue]) -> PropertyListValue? {
        if let value = values[name] { return value }
        for (first, rest) in splits(name) {
            if case .dictionary(let inner)? = values[first], let value = find(rest, in: inner) { return value }
        }
        return nil
    }

    /// What is before and after each ".", the longest first part first.
    private static func splits(_ name: String) -> some Sequence<(first: String, rest: String)> {
        name.indices.reversed().lazy.filter { name[$0] == "." }
            .map { (String(name[..<$0]), String(name[name.index(after: $0)...])) }
    }
}
#endif
