/// A dictionary of any key and value type; DefaultsFoundation conforms `NSDictionary`.
package protocol EntriesByKey {
    /// The entries, if all keys are strings.
    var entries: [String: Any]? { get }
}

extension Dictionary: EntriesByKey {
    package var entries: [String: Any]? {
        if Key.self == String.self { return self as? [String: Any] }
        guard Key.self == AnyHashable.self else { return nil }
        var entries: [String: Any] = [:]
        for (key, value) in self {
            guard let text = AnyHashable(key).base as? String else { return nil }
            entries[text] = value
        }
        return entries
    }
}
