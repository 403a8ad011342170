import DefaultsCore
import PropertyList

/// One domain's values as this process sees them: the agent's, with the process's own edits on top that it has not yet
/// confirmed.
struct Replica: Sendable {
    /// The values in force here.
    private(set) var values: DomainValues = [:]
    /// The keys whose own edit is still under way; what others make of them meanwhile isn't seen here.
    private var masks: [String: Mask] = [:]

    private struct Mask {
        /// The last own edit of the key.
        var number: UInt64
        /// The value that the edit hides.
        var under: PropertyListValue?
    }

    init(values: DomainValues = [:]) {
        self.values = values
    }

    /// Sets or removes keys by an own edit.
    mutating func edit(_ changes: Difference, number: UInt64) {
        for (key, value) in changes {
            masks[key, default: Mask(number: number, under: values[key])].number = number
            values[key] = value
        }
    }

    /// Hides keys again that an own edit changed whose making has become uncertain.
    mutating func mask(_ keys: some Sequence<String>, number: UInt64) {
        for key in keys {
            masks[key, default: Mask(number: number, under: values[key])].number = number
        }
    }

    /// Whether a key is still hidden by a certain edit.
    func isMasked(_ key: String, by number: UInt64) -> Bool { masks[key]?.number == number }

    /// Takes a key's change from the stream.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - value: its new value, `nil` when it was removed.
    ///   - own: the number of the own edit that it is, if it is one.
    /// - Returns: whether the value in force here has changed.
    mutating func receive(_ key: String, _ value: PropertyListValue?, own: UInt64?) -> Bool {
        if let mask = masks[key], mask.number != own {
            masks[key]?.under = value
            return false
        }
        masks[key] = nil
        return replace(key, value)
    }

    /// Takes that the agent has dealt with an own edit.
    ///
    /// A key that is still hidden by it wasn't changed: it was so already, or someone else has overruled the edit. Not so
    /// where changes don't come, or not yet: there the edit's value stays in force until others do.
    ///
    /// - Parameters:
    ///   - keys: the keys that the edit changed.
    ///   - number: its number.
    ///   - isFollowed: whether everything up to there has been received.
    /// - Returns: the keys whose value in force here has changed.
    mutating func accept(_ keys: some Sequence<String>, number: UInt64, isFollowed: Bool = true) -> [String] {
        keys.filter { key in
            guard let mask = masks[key], mask.number == number else { return false }
            masks[key] = nil
            return isFollowed && replace(key, mask.under)
        }
    }

    /// Takes all values from a snapshot.
    ///
    /// - Returns: the keys whose value in force here has changed.
    mutating func replaceAll(with snapshot: DomainValues) -> [String] {
        var changed: [String] = []
        for (key, value) in snapshot where receive(key, value, own: nil) { changed.append(key) }
        for key in Set(values.keys).union(masks.keys) where snapshot[key] == nil && receive(key, nil, own: nil) {
            changed.append(key)
        }
        return changed
    }

    private mutating func replace(_ key: String, _ value: PropertyListValue?) -> Bool {
        if values[key] == value { return false }
        values[key] = value
        return true
    }
}
