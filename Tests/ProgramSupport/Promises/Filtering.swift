package import DefaultsCore

/// The promise that only requested events arrive.
package struct Filtering: StreamPromise {
    package static let name = "Filtered"
    package let filter: SubscriptionFilter

    package func take(_ event: StreamEvent) -> String? {
        switch event {
        case .initial(let snapshot):
            return filter.includes(snapshot.domain) ? nil : "the values of \(snapshot.domain)"
        case .record(let record, let cursor):
            guard filter.includes(record.domain) else { return "a record of \(record.domain) at \(cursor)" }
            guard case .change(let changeSet) = record.event else { return nil }
            return changeSet.changes.first { !filter.includes(key: $0.key) }.map { "\($0.key) at \(cursor)" }
        case .bookmark, .gap, .ended: return nil
        }
    }
}
