import DefaultsCore
import PropertyList

/// The values that result from one domain's records.
struct TrackedValues: Sendable {
    private(set) var values: DomainValues = [:]

    mutating func take(_ event: StreamEvent) {
        switch event {
        case .initial(let snapshot): values = snapshot.values
        case .record(let record, _):
            guard case .change(let changeSet) = record.event else { return }
            for change in changeSet.changes { values[change.key] = change.new }
        case .bookmark, .gap, .ended: break
        }
    }
}
