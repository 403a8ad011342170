package import DefaultsCore

/// The promise that a change's old value matches the previous records, and that its new value differs.
package struct PreviousValue: StreamPromise {
    package static let name = "Previous value correct"
    private var tracked = TrackedValues()

    package mutating func take(_ event: StreamEvent) -> String? {
        defer { tracked.take(event) }
        guard case .record(let record, let cursor) = event, case .change(let changeSet) = record.event else {
            return nil
        }
        for change in changeSet.changes {
            if !tracked.agree(with: change.old, of: change.key) { return "\(change.key) at \(cursor)" }
            if change.old == change.new { return "\(change.key) hasn't changed at \(cursor)" }
        }
        return nil
    }
}
