extension StoreState {
    /// Returns a domain's values in force.
    func snapshot(of domain: Domain) -> DomainSnapshot {
        let state = domains[domain]
        return DomainSnapshot(
            domain: domain, values: state?.merge.current ?? [:], cursor: log.cursor,
            damage: state?.damage?.error.description)
    }

    /// Returns the values of all domains that have values or are damaged, in order.
    func snapshots() -> [DomainSnapshot] { snapshots(of: domains.keys) }

    /// Returns the same for the domains of some names; the time doesn't depend on the number of other domains.
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
    /// Returns the part of a snapshot that passes the filter; `nil` if nothing does.
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

/// A domain's values in force, at one place in the change log.
package struct DomainSnapshot: Sendable {
    package var domain: Domain
    package var values: DomainValues
    /// The place: `values` include every change up to it, and none after it.
    package var cursor: Cursor
    /// The reason why the domain's file can't be used; `values` are then the last good ones, if there were any.
    package var damage: String?

    package init(domain: Domain, values: DomainValues, cursor: Cursor, damage: String? = nil) {
        self.domain = domain
        self.values = values
        self.cursor = cursor
        self.damage = damage
    }
}
