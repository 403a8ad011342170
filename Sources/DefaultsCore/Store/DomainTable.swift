/// The states of a store's domains, indexed by domain and by name.
struct DomainTable: Sequence {
    private var states: [Domain: DomainState] = [:]
    /// The domains that have a state, by name.
    private var domains: [DomainName: Set<Domain>] = [:]

    var keys: Dictionary<Domain, DomainState>.Keys { states.keys }

    /// Returns the domains with a given name that have a state.
    func domains(named name: DomainName) -> Set<Domain> { domains[name] ?? [] }

    func makeIterator() -> Dictionary<Domain, DomainState>.Iterator { states.makeIterator() }

    subscript(domain: Domain) -> DomainState? {
        get { states[domain] }
        _modify {
            let count = states.count
            defer { note(domain, since: count) }
            yield &states[domain]
        }
    }

    subscript(domain: Domain, default state: @autoclosure () -> DomainState) -> DomainState {
        get { states[domain, default: state()] }
        _modify {
            let count = states.count
            defer { note(domain, since: count) }
            yield &states[domain, default: state()]
        }
    }

    private mutating func note(_ domain: Domain, since count: Int) {
        if states.count > count { domains[domain.name, default: []].insert(domain) }
        if states.count < count { domains[domain.name]?.remove(domain) }
    }
}
