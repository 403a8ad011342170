import CFork
import DefaultsCore
import Linux
import PropertyList

/// A forked child, which has a copy of its parent's memory, but only the thread that forked.
///
/// It starts over when it first uses the library, and not during the fork, since most children immediately run another
/// program.
enum ForkedChild {
    private struct Reference {
        weak var client: Client?
    }

    /// The clients that start over in a child.
    private static let all = ForkSafeMutex<[ObjectIdentifier: Reference]>([:])

    /// Whether this process is a child that hasn't started over yet, so that its values date from before the fork.
    static var isFresh: Bool { fork_is_fresh_child() }

    /// Adds a client that starts over in a child.
    static func add(_ client: Client) {
        all.withLock { $0[ObjectIdentifier(client)] = Reference(client: client) }
        fork_start_over_with { ForkedChild.startOver() }
    }

    /// Removes a client.
    static func remove(_ client: Client) {
        all.withLock { $0[ObjectIdentifier(client)] = nil }
    }

    private static func startOver() {
        // Don't hold the lock here, since releasing the last reference to a client acquires it too.
        startOver(all.withLock { $0.values.map(\.client) }, and: .shared)
    }

    private static func startOver(_ clients: [Client?], and lock: ModificationLock) {
        for client in clients { client?.startOver() }
        lock.startOver()
    }

    /// Rehearses the start of a child, before there can be one that matters.
    ///
    /// Swift's runtime makes generic types and their conformances when they are first used, and holds a lock meanwhile.
    /// A child that is forked while another thread does so can never get that lock. So nothing that a child does should
    /// be done for the first time.
    static func rehearse() { _ = rehearsal }

    private static let rehearsal: Void = {
        _ = all.withLock { $0.values.map(\.client) }
        startOver([Client(inMemory: [:])], and: ModificationLock())
    }()
}

/// The parent's edits of a name's domains that weren't known to be saved at the time of the fork.
///
/// These edits are in effect in the child, but the parent saves them, possibly after the child has loaded its first
/// values. So if a loaded key still has a value from before such an edit, the edit's value replaces it.
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

    /// Adds the edits that are missing from a domain's first values.
    func complete(_ values: DomainValues, of domain: Domain) -> DomainValues {
        var values = values
        for (name, key) in keys[domain] ?? [:] where key.before.contains(values[name]) { values[name] = key.value }
        return values
    }
}
