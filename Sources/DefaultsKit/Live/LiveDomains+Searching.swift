import CLinux
import DefaultsCore
import Linux
import PropertyList

extension LiveDomains {
    /// Makes a search list for an application or a suite, with no other suites.
    func makeList(of name: DomainName) -> SearchList {
        let list = SearchList(observed)
        state.withLock { $0.add(list, name) }
        return list
    }

    /// Keeps a search list no more.
    func release(_ list: SearchList) {
        let hasExcess = state.withLock { state in
            state.remove(list)
            return state.idle.hasExcess
        }
        if hasExcess { requests.wake() }
    }

    /// Sees to it that a search list has searched, and that what it finds is no older than it may be.
    func search(_ list: SearchList) {
        prepare(names(of: list))
        // A second time when languages had to be made for it first; again if others are asked for meanwhile.
        while !list.hasSearched, transition({ ($0.has(list), $0.fill(list)) }) {}
    }

    /// Every layer of a search list that has a key, the winning one first.
    func holders(of key: String, in list: SearchList) -> [(layer: SearchLayer, value: PropertyListValue)] {
        state.withLock { $0.holders(of: key, in: list) }
    }

    /// The names whose domains a search list needs.
    func names(of list: SearchList) -> [DomainName] { state.withLock { $0.names(of: list) } }

    /// The values of a domain, which is fetched first if it isn't here, or older than it may be.
    func currentValues(of domain: Domain) -> DomainValues {
        // Nearly always it is here: then one turn of the lock is enough.
        if !isStale,
            let values = state.withLock({ $0.isLoaded(domain.name) ? $0.values(of: domain) : nil as DomainValues? })
        {
            return values
        }
        return with([domain.name]) { values(of: domain) }
    }

    /// The values of a domain, as far as it is here.
    func values(of domain: Domain) -> DomainValues { state.withLock { $0.values(of: domain) } }

    /// Changes the suites of a search list, the last one added first.
    func changeSuites(of list: SearchList, _ change: (inout [DomainName]) -> Void) {
        transition { state in
            var suites = state.suites(of: list)
            change(&suites)
            return ((), state.setSuites(suites, of: list))
        }
    }

    /// Where a domain's file is, or would be; `nil` for one that is in memory alone.
    func path(of domain: Domain) -> String? {
        switch domain.user {
        case .current: (try? place.get())?.directory.path(of: domain)
        case .any(let directory): PreferencesDirectory(path: directory).path(of: domain)
        case .managed: state.withLock { $0.system.managed }.map { PreferencesDirectory(path: $0).path(of: domain) }
        }
    }

    /// The domains of a user that have values or a damaged file, those included that this process doesn't use.
    ///
    /// Asks the agent, or reads the directory.
    func domains(of user: DomainUser) throws(DefaultsError) -> [Domain] {
        let listed = isInMemory ? [] : try storedDomains(of: user)
        // What is here is newer, by this process's edits at least.
        return state.withLock { state in
            (listed.filter { !state.isLoaded($0.name) } + state.domainsWithValues.filter { $0.user == user }).sorted()
        }
    }

    private func storedDomains(of user: DomainUser) throws(DefaultsError) -> [Domain] {
        switch user {
        case .current:
            let place = try place.get()
            // A child forked meanwhile would inherit its descriptors.
            linux_enter(linux_gate_work)
            defer { linux_leave(linux_gate_work) }
            // One that can't be had is done without, even if the environment names it.
            if let agent = try? AgentConnection.open(place.address.get(), for: place.directory) {
                return try agent.domains()
            }
            return try EmbeddedStore(place.directory, system: .none).domains()
        case .any(let directory):
            return try PreferencesDirectory(path: directory).domains(of: user)
        case .managed:
            guard let directory = state.withLock({ $0.system.managed }) else { return [] }
            return try PreferencesDirectory(path: directory).domains(of: user)
        }
    }

    // MARK: Followers

    /// Tells someone of all change sets from now on.
    func add(_ follower: ChangeFollower) {
        state.withLock { $0.add(follower) }
        beginObserving()
    }

    /// Tells someone no more.
    func remove(_ follower: ChangeFollower) {
        state.withLock { $0.remove(follower) }
    }

    // MARK: Volatile domains

    /// The names of the domains of this process alone that a search list may have, in order.
    func volatileNames(of list: SearchList) -> [String] {
        if state.withLock({ $0.usesLanguages }) { search(list) }
        return state.withLock { $0.volatileNames(of: list) }
    }

    /// A domain of this process alone, which may be a language of a search list.
    func volatile(_ name: String, of list: SearchList) -> DomainValues? {
        if state.withLock({ $0.usesLanguages && $0.volatile[name] == nil }) {
            search(list)
            guard list.languages.contains(name) else { return nil }
        }
        return state.withLock { $0.volatileValues(name) }
    }

    /// Changes a domain of this process alone; `nil` removes it.
    func changeVolatile(_ name: String, _ change: (DomainValues?) -> DomainValues?) {
        transition { state in ((), state.setVolatile(name, to: change(state.volatile[name]))) }
    }
}
