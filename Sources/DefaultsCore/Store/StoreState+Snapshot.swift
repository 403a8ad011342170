extension StoreState {
    /// A domain's values in force.
    func snapshot(of domain: Domain) -> DomainSnapshot {
        let state = domains[domain]
        return DomainSnapshot(
            domain: domain, values: state?.merge.current ?? [:], cursor: log.cursor,
            damage: state?.damage?.error.description)
    }

    /// The values of all domains that have some, or are damaged, in order.
    func snapshots() -> [DomainSnapshot] { snapshots(of: domains.keys) }

    /// The same of the domains of some names, however many others there are.
    func snapshots(ofNames names: Set<DomainName>) -> [DomainSnapshot] {
        snapshots(of: names.flatMap { domains.domains(named: $0) })
    }

    private func snapshots(of domains: some Collection<Domain>) -> [DomainSnapshot] {
        domains.sorted().compactMap { domain in
            let snapshot = snapshot(of: domain)
            return snapshot.values.isEmpty && snapshot.damage == nil ? nil : snapshot
        }
    }
}

extension SubscriptionFilter {
    /// The part of a snapshot that passes the filter; `nil` when nothing does.
    func callAsFunction(_ snapshot: DomainSnapshot) -> DomainSnapshot? {
        guard includes(snapshot.domain) else { return nil }
        if keys.isEmpty { return snapshot }
        var wanted = snapshot
        wanted.values = snapshot.values.filter { includes(key: $0.key) }
        return wanted.values.isEmpty && wanted.damage == nil ? nil : wanted
    }
}

extension Merge {
    /// Whether no key has a value.
    var isEmpty: Bool {
        pending.isEmpty ? base.isEmpty : current.isEmpty
    }
}
