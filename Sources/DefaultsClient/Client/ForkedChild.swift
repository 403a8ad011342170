import CLinux
import DefaultsCore
import Linux
import PropertyList

/// A forked child, which has its parent's memory, but of its parent's threads only the one that forked.
///
/// It starts over when it first uses the library, and not during the fork: most children run another program
/// immediately.
enum ForkedChild {
    private struct Reference {
        weak var client: Client?
    }

    /// The clients that start over in a child.
    private static let all = ForkSafeMutex<[ObjectIdentifier: Reference]>([:])

    /// Whether this process is a child that hasn't started over, so that its values are as old as the fork.
    static var isFresh: Bool { linux_is_fresh_child() }

    /// Adds a client that starts over in a child.
    static func add(_ client: Client) {
        all.withLock { $0[ObjectIdentifier(client)] = Reference(client: client) }
        linux_start_over_with { ForkedChild.startOver() }
    }

    /// Removes a client.
    static func remove(_ client: Client) {
        all.withLock { $0[ObjectIdentifier(client)] = nil }
    }

    private static func startOver() {
        // Not under the lock: releasing the last reference to a client acquires it, too.
        for client in all.withLock({ $0.values.map(\.client) }) { client?.startOver() }
    }
}

/// The parent's edits of a name that weren't known to be saved when it forked.
///
/// They are in effect in the child, but the parent saves them, possibly after the child has loaded its first values.
/// Therefore, a key that still has a value from before such an edit gets the edit's value.
struct InheritedEdits: Sendable {
    private var keys: [Domain: [String: Key]] = [:]

    private struct Key {
        /// The values before each edit.
        var before: [PropertyListValue?] = []
        /// The value after the last edit; `nil` if that edit removed the key.
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
