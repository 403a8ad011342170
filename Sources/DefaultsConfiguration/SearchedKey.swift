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
        var search = Search()
        return search.find(name, in: values)
    }

    /// The search for one key.
    private struct Search {
        /// The attempts that found nothing: dictionaries may share what they hold, so that many paths lead to one.
        private var missing: Set<Attempt> = []

        private struct Attempt: Hashable {
            /// The length of the rest of the name, which tells it from other rests.
            var length: Int
            /// The dictionary's storage, which stays where it is as long as the search's values live.
            var storage: UInt
        }

        mutating func find(_ name: String, in values: [String: PropertyListValue]) -> PropertyListValue? {
            if let value = values[name] { return value }
            let attempt = Attempt(length: name.utf8.count, storage: unsafeBitCast(values, to: UInt.self))
            guard missing.insert(attempt).inserted else { return nil }
            for (first, rest) in SearchedKey.splits(name) {
                if case .dictionary(let inner)? = values[first], let value = find(rest, in: inner) { return value }
            }
            return nil
        }
    }

    /// What is before and after each ".", the longest first part first.
    fileprivate static func splits(_ name: String) -> some Sequence<(first: String, rest: String)> {
        name.indices.reversed().lazy.filter { name[$0] == "." }
            .map { (String(name[..<$0]), String(name[name.index(after: $0)...])) }
    }
}
#endif
