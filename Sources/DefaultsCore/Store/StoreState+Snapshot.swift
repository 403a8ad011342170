extension StoreState {
    /// A domain's values in force.
    func snapshot(of domain: Domain) -> DomainSnapshot {
        let state = domains[domain]
        return DomainSnapshot(
            domain: domain, values: state?.merge.current ?? [:], cursor: log.cursor,
            damage: state?.damage?.error.description)
    }

    /// The values of all domains that a filter lets through, keys filtered too, in order.
    func snapshots(_ filter: SubscriptionFilter) -> [DomainSnapshot] {
        domains.keys.filter { filter.includes($0) }.sorted().compactMap { domain in
            var snapshot = snapshot(of: domain)
            if !filter.keys.isEmpty { snapshot.values = snapshot.values.filter { filter.includes(key: $0.key) } }
            return snapshot.values.isEmpty && snapshot.damage == nil ? nil : snapshot
        }
    }
}

extension Merge {
    /// Whether no key has a value.
    var isEmpty: Bool {
        pending.isEmpty ? base.isEmpty : current.isEmpty
    }
}
