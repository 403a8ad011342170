import DefaultsCore
import PropertyList

/// The parent's edits of a name that weren't known to be saved when it forked.
///
/// They are in force in the child, but the parent saves them, maybe after the child has loaded its first values. So a key of
/// those that still holds a value from before such an edit gets the edit's value.
struct InheritedEdits: Sendable {
    private var keys: [Domain: [String: Key]] = [:]

    private struct Key {
        /// The values before each edit.
        var before: [PropertyListValue?] = []
        /// The value after the last edit; `nil` when that removed the key.
        var value: PropertyListValue?
    }

    /// Adds the parent's next edit.
    mutating func add(_ edit: UnsavedEdit) {
        for (key, value) in edit.values {
            keys[edit.domain, default: [:]][key, default: Key()].before += edit.former(key)
            keys[edit.domain]?[key]?.value = value
        }
    }

    /// Applies the edits that a domain's first values lack.
    func complete(_ values: DomainValues, of domain: Domain) -> DomainValues {
        var values = values
        for (name, key) in keys[domain] ?? [:] where key.before.contains(values[name]) { values[name] = key.value }
        return values
    }
}
