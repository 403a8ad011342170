package import DefaultsCore
package import PropertyList

/// What `write` is to make of a key's value.
package enum NewValue: Hashable {
    case set(PropertyListValue)
    /// `-array-add`.
    case append([PropertyListValue])
    /// `-dict-add`.
    case merge(DomainValues)

    /// The value that comes of an old one.
    package func applied(to old: PropertyListValue?, _ key: String, of place: DomainPlace) throws(Failure)
        -> PropertyListValue
    {
        switch (self, old) {
        case (.set(let value), _): return value
        case (.append(let added), nil): return .array(added)
        case (.append(let added), .array(let elements)?): return .array(elements + added)
        case (.merge(let added), nil): return .dictionary(added)
        case (.merge(let added), .dictionary(let entries)?): return .dictionary(entries.merging(added) { $1 })
        case (.append, let old?): throw Self.mismatch(old, key, place, "an array", "-array")
        case (.merge, let old?): throw Self.mismatch(old, key, place, "a dictionary", "-dict")
        }
    }

    private static func mismatch(
        _ old: PropertyListValue, _ key: String, _ place: DomainPlace, _ wanted: String, _ option: String
    ) -> Failure {
        Failure(
            "The value of \"\(key)\" in \(place.name) is not \(wanted) but of type \(old.typeName), so nothing can be added; "
                + "defaults unchanged. \(option) replaces it.", .dataError)
    }
}
