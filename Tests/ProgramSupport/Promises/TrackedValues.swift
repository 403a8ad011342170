package import DefaultsCore
package import PropertyList

/// The values that result from one domain's records.
package struct TrackedValues: Sendable {
    package private(set) var values: DomainValues = [:]
    /// The keys whose values are known; `nil` if all are.
    ///
    /// After a record that says that changes are unknown, a subscriber reads the values again. This one doesn't.
    private var known: Set<String>?

    package init() {}

    package mutating func take(_ event: StreamEvent) {
        switch event {
        case .initial(let snapshot): (values, known) = (snapshot.values, nil)
        case .record(let record, _):
            if case .unknown = record.event {
                known = []
                return
            }
            for change in record.changeSet?.changes ?? [] {
                values[change.key] = change.new
                known?.insert(change.key)
            }
        case .bookmark, .gap, .ended: break
        }
    }

    /// Returns whether a value agrees with what is known of a key.
    package func agree(with value: PropertyListValue?, of key: String) -> Bool {
        known?.contains(key) == false || values[key] == value
    }

    /// Returns whether values agree with what is known.
    package func agree(with others: DomainValues) -> Bool {
        Set(values.keys).union(others.keys).allSatisfy { agree(with: others[$0], of: $0) }
    }
}
