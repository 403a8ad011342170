package import DefaultsCore

/// The promise that a change set arrives whole: a key and its twin, always set together, are never seen apart.
package struct Atomicity: StreamPromise {
    package static let name = "Atomic"
    private static let suffix = " twin"
    private var tracked = TrackedValues()

    /// Returns the key that is always set together with another, to the same value.
    package static func twin(of key: String) -> String { key + suffix }

    package mutating func take(_ event: StreamEvent) -> String? {
        tracked.take(event)
        guard case .record(let record, let cursor) = event, case .change(let changeSet) = record.event else {
            return nil
        }
        let keys = changeSet.changes.map(\.key)
        if Set(keys).count < keys.count { return "a key occurs twice in the record at \(cursor)" }
        for key in keys where !key.hasSuffix(Self.suffix) {
            guard let twin = tracked.values[Self.twin(of: key)] else { continue }
            if tracked.values[key] != twin { return "\(key) came without its twin at \(cursor)" }
        }
        for key in keys where key.hasSuffix(Self.suffix) {
            let first = String(key.dropLast(Self.suffix.count))
            if tracked.values[key] != tracked.values[first] { return "\(key) came without its twin at \(cursor)" }
        }
        return nil
    }
}
