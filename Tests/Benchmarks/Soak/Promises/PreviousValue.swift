import DefaultsCore

/// The promise that a change's old value matches the previous records, and that its new value differs.
struct PreviousValue: StreamPromise {
    static let name = "Previous value correct"
    private var tracked = TrackedValues()

    mutating func take(_ event: StreamEvent) -> String? {
        defer { tracked.take(event) }
        guard case .record(let record, let cursor) = event, case .change(let changeSet) = record.event else {
            return nil
        }
        for change in changeSet.changes {
            if tracked.values[change.key] != change.old { return "\(change.key) at \(cursor)" }
            if change.old == change.new { return "\(change.key) hasn't changed at \(cursor)" }
        }
        return nil
    }
}
