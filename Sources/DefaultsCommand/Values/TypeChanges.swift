import DefaultsCore
import PropertyList

extension DomainValues {
    /// The keys whose values, at any depth, aren't of the same type as in other values, sorted.
    ///
    /// All numbers count as one type, since many programs don't distinguish them.
    func keysOfOtherTypes(than old: DomainValues) -> [String] {
        filter { key, value in old[key].map { !$0.hasTypes(of: value) } ?? false }.keys.sorted()
    }
}

extension PropertyListValue {
    fileprivate func hasTypes(of other: PropertyListValue) -> Bool {
        switch (self, other) {
        case (.array(let elements), .array(let others)): zip(elements, others).allSatisfy { $0.hasTypes(of: $1) }
        case (.dictionary(let entries), .dictionary(let others)): others.keysOfOtherTypes(than: entries).isEmpty
        default: typeName == other.typeName || isNumber && other.isNumber
        }
    }

    private var isNumber: Bool {
        switch self {
        case .integer, .unsigned, .real, .real32: true
        case .string, .boolean, .date, .data, .array, .dictionary, .uid: false
        }
    }
}

extension OpenDomain {
    /// Reports the keys that got values of other types.
    ///
    /// - Parameters:
    ///   - new: The values that were set.
    ///   - old: The domain's values before.
    ///   - isText: Whether the new values may be the output of `read`.
    func reportTypeChanges(of new: DomainValues, replacing old: DomainValues, isText: Bool) {
        let keys = new.keysOfOtherTypes(than: old)
        if keys.isEmpty { return }
        let remedy =
            isText ? " `read` prints numbers, dates and Booleans as strings; to keep types, use `read --json`." : ""
        Failure.report(
            "The edit changed the type of \(keys.count.counting("key")) in \(location.name): "
                + "\(ChangeText.list(keys)).\(remedy)")
    }
}

extension PropertyListValue {
    /// The value's type as `read-type` names it.
    var typeName: String {
        switch self {
        case .string: "string"
        case .integer, .unsigned: "integer"
        case .real, .real32: "float"
        case .boolean: "boolean"
        case .date: "date"
        case .data: "data"
        case .array: "array"
        // Text formats write a uid as a dictionary.
        case .dictionary, .uid: "dictionary"
        }
    }
}
