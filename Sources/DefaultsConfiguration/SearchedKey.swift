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
    func find(in values: [String: PropertyListValue]) -> PropertyListValue? {
        var search = Search()
        return search.find(name, in: values)
    }

    /// The search for one key.
    private struct Search {
        /// The failed attempts.
        ///
        /// Dictionaries may share contents, so many paths can lead to the same dictionary.
        private var missing: Set<Attempt> = []

        private struct Attempt: Hashable {
            /// The length of the remaining name, which identifies it among the suffixes of the full name.
            var length: Int
            /// The address of the dictionary's storage, which is stable as long as the searched values exist.
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

    /// Returns the parts before and after each ".", starting with the longest first part.
    fileprivate static func splits(_ name: String) -> some Sequence<(first: String, rest: String)> {
        name.indices.reversed().lazy.filter { name[$0] == "." }
            .map { (String(name[..<$0]), String(name[name.index(after: $0)...])) }
    }
}
#endif
