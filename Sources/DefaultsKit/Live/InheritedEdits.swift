import DefaultsCore
import PropertyList

/// The parent's edits of a name that weren't known to be saved when it forked.
///
/// The child reads them from the first moment on, and neither asks for them nor is told when they are made. So when its first
/// values come, a key that still holds what it did before such an edit has yet to be changed by it.
struct InheritedEdits: Sendable {
    private var keys: [Domain: [String: Key]] = [:]

    private struct Key {
        /// What the key held before each edit.
        var before: [PropertyListValue?] = []
        /// What it holds after the last; `nil` when that removed it.
        var value: PropertyListValue?
    }

    /// Adds the parent's next edit.
    mutating func add(_ edit: UnsavedEdit) {
        for (key, value) in edit.values {
            keys[edit.domain, default: [:]][key, default: Key()].before.append(edit.replacing[key])
            keys[edit.domain]?[key]?.value = value
        }
    }

    /// Makes those edits in a domain's first values that are still to come.
    func complete(_ values: DomainValues, of domain: Domain) -> DomainValues {
        var values = values
        for (name, key) in keys[domain] ?? [:] where key.before.contains(values[name]) { values[name] = key.value }
        return values
    }
}
