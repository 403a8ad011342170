import DefaultsCore
import PropertyList

/// A domain's values as this process sees them: the agent's values, overlaid with edits of this process that the agent
/// hasn't confirmed yet.
struct Replica: Sendable {
    /// The values in effect in this process.
    private(set) var values: DomainValues = [:]
    /// The keys that this process is editing; the edit hides others' changes until it is confirmed.
    private var masks: [String: Mask] = [:]

    private struct Mask {
        /// The number of the process's last edit of the key.
        var number: UInt64
        /// The value that the edit hides.
        var under: PropertyListValue?
    }

    init(values: DomainValues = [:]) {
        self.values = values
    }

    /// Sets or removes keys by an edit of this process.
    mutating func edit(_ changes: Difference, number: UInt64) {
        for (key, value) in changes {
            masks[key, default: Mask(number: number, under: values[key])].number = number
            values[key] = value
        }
    }

    /// Masks the keys of an edit again, because it is no longer certain that the edit was made.
    mutating func mask(_ keys: some Sequence<String>, number: UInt64) {
        for key in keys {
            masks[key, default: Mask(number: number, under: values[key])].number = number
        }
    }

    /// Returns whether a key is still masked by a certain edit.
    func isMasked(_ key: String, by number: UInt64) -> Bool { masks[key]?.number == number }

    /// Receives a key's change from the stream.
    ///
    /// - Parameters:
    ///   - key: The changed key.
    ///   - value: The key's new value; `nil` if the key was removed.
    ///   - own: The number of this process's edit that made the change; `nil` if another process made it.
    /// - Returns: Whether the value in effect has changed.
    mutating func receive(_ key: String, with value: PropertyListValue?, own: UInt64?) -> Bool {
        if let mask = masks[key], mask.number != own {
            masks[key]?.under = value
            return false
        }
        masks[key] = nil
        return replace(key, with: value)
    }

    /// Removes the masks of an edit that the agent has processed.
    ///
    /// If the edit still masks a key, it didn't change that key: the key already had the value, or another writer
    /// overruled the edit. This can be known only while changes are arriving; otherwise, the edit's value stays in
    /// effect until other values arrive.
    ///
    /// - Parameters:
    ///   - keys: The keys that the edit changed.
    ///   - number: The edit's number.
    ///   - isFollowed: Whether all changes up to this point have been received.
    /// - Returns: The keys whose value in effect has changed.
    mutating func accept(_ keys: some Sequence<String>, number: UInt64, isFollowed: Bool = true) -> [String] {
        keys.filter { key in
            guard let mask = masks[key], mask.number == number else { return false }
            masks[key] = nil
            return isFollowed && replace(key, with: mask.under)
        }
    }

    /// Replaces all values with those of a snapshot, under the masks.
    ///
    /// - Returns: The keys whose value in effect has changed.
    mutating func replaceAll(with snapshot: DomainValues) -> [String] {
        var changed: [String] = []
        for (key, value) in snapshot where receive(key, with: value, own: nil) { changed.append(key) }
        for key in Set(values.keys).union(masks.keys) where snapshot[key] == nil && receive(key, with: nil, own: nil) {
            changed.append(key)
        }
        return changed
    }

    private mutating func replace(_ key: String, with value: PropertyListValue?) -> Bool {
        if values[key] == value { return false }
        values[key] = value
        return true
    }
}

/// The replicas of domains, which can also be found by name.
struct Replicas: Sendable {
    private var replicas: [DomainName: [Domain: Replica]] = [:]

    init(_ values: [Domain: DomainValues] = [:]) {
        for (domain, values) in values { replicas[domain.name, default: [:]][domain] = Replica(values: values) }
    }

    subscript(domain: Domain) -> Replica? { replicas[domain.name]?[domain] }

    /// Returns the domains of a name that have a replica.
    func domains(named name: DomainName) -> [Domain] { replicas[name].map { Array($0.keys) } ?? [] }

    /// The domains that have values, in order.
    var domainsWithValues: [Domain] {
        replicas.values.flatMap { $0.filter { !$1.values.isEmpty }.keys }.sorted()
    }

    /// Changes a domain's replica in place, creating it if necessary.
    mutating func change<Value>(_ domain: Domain, _ body: (inout Replica) -> Value) -> Value {
        body(&replicas[domain.name, default: [:]][domain, default: Replica()])
    }

    /// Removes the replicas of a name.
    mutating func remove(_ name: DomainName) { replicas[name] = nil }

    /// Forgets which edits are under way, but retains the values that they set.
    mutating func forgetEdits() {
        replicas = replicas.mapValues { $0.mapValues { Replica(values: $0.values) } }
    }
}
