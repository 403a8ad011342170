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
