import CFork
package import DefaultsCore
import Linux
package import PropertyList

extension Client {
    /// Creates a search list for an application or a suite, without additional suites.
    package func makeList(of name: DomainName) -> SearchList {
        let list = SearchList(observed)
        state.withLock { $0.add(list, for: name) }
        return list
    }

    /// Stops updating a search list.
    package func release(_ list: SearchList) {
        release { $0.remove(list) }
    }

    /// Makes a search list's first search if necessary, and reloads stale values.
    package func search(_ list: SearchList) {
        prepare(names(of: list))
        fill(list)
    }

    /// Makes a search list's first search, once its domains are loaded.
    private func fill(_ list: SearchList) {
        // The first pass may only load the list's languages, so that the second one can search. More passes follow if
        // the languages change in the meantime.
        while !list.hasSearched, transition({ ($0.has(list), $0.fill(list)) }) {}
    }

    /// Does the same as `search`, but suspends the task instead of blocking a thread.
    ///
    /// - Returns: False if the task was canceled first.
    package func searched(_ list: SearchList) async -> Bool {
        guard await load(names(of: list)) else { return false }
        fill(list)
        return true
    }

    /// Makes a search list's first search if all required values are loaded, without waiting.
    ///
    /// - Returns: Whether the list has been searched and is up to date.
    package func searchIfLoaded(_ list: SearchList) -> Bool {
        guard !isStale, state.withLock({ state in state.names(of: list).allSatisfy { state.isLoaded($0) } }) else {
            return false
        }
        reportUnavailability()
        fill(list)
        return list.hasSearched
    }

    /// Returns every layer of a search list that has a key, the winning one first.
    package func holders(of key: String, in list: SearchList) -> [(layer: SearchLayer, value: PropertyListValue)] {
        state.withLock { $0.holders(of: key, in: list) }
    }

    /// Returns the names whose domains a search list needs.
    package func names(of list: SearchList) -> [DomainName] { state.withLock { $0.names(of: list) } }

    /// Returns the values of a domain, after loading them if they are missing or stale.
    package func currentValues(of domain: Domain) -> DomainValues {
        // In the usual case, the values are loaded and the lock is acquired only once.
        if !isStale,
            let values = state.withLock({ $0.isLoaded(domain.name) ? $0.values(of: domain) : nil as DomainValues? })
        {
            reportUnavailability()
            return values
        }
        return with([domain.name]) { values(of: domain) }
    }

    /// Returns the damage of a domain's file, which may hide values; `nil` if the file is intact.
    package func damage(of domain: Domain) -> DefaultsError? {
        _ = currentValues(of: domain)
        return state.withLock { $0.damages[domain] }.map { DefaultsError(.damaged, $0) }
    }

    /// Returns a domain's values as far as they are loaded.
    package func values(of domain: Domain) -> DomainValues { state.withLock { $0.values(of: domain) } }

    /// Changes the suites of a search list, ordered from the last one added to the first.
    package func changeSuites(of list: SearchList, _ change: (inout [DomainName]) -> Void) {
        transition { state in
            var suites = state.suites(of: list)
            change(&suites)
            return ((), state.setSuites(suites, of: list))
        }
    }

    /// Returns the path of a domain's file, which may not exist; `nil` for a domain that has no file.
    package func path(of domain: Domain) -> String? {
        switch domain.user {
        case .current: (try? location.get())?.directory.path(of: domain)
        case .any(let directory): PreferencesDirectory(path: directory).path(of: domain)
        case .managed: state.withLock { $0.system.managed }.map { PreferencesDirectory(path: $0).path(of: domain) }
        }
    }

    /// Returns the domains of a user that have values or a damaged file, including those that this process doesn't use.
    ///
    /// Asks the agent, or reads the directory.
    package func domains(of user: DomainUser) throws(DefaultsError) -> [Domain] {
        if let unavailability { throw unavailability }
        let listed = isInMemory ? [] : try storedDomains(of: user)
        // Loaded values are newer: they include at least this process's edits.
        return state.withLock { state in
            (listed.filter { !state.isLoaded($0.name) } + state.domainsWithValues.filter { $0.user == user }).sorted()
        }
    }

    private func storedDomains(of user: DomainUser) throws(DefaultsError) -> [Domain] {
        switch user {
        case .current:
            let location = try location.get()
            // A fork must wait: the child would inherit the connection's descriptors.
            fork_enter(fork_gate_work)
            defer { fork_leave(fork_gate_work) }
            // If the agent can't be reached, the files are read, even if the environment names a socket.
            if let agent = try? AgentConnection.open(location.address.get(), for: location.directory) {
                return try agent.domains()
            }
            return try EmbeddedStore(location.directory, system: .none).domains()
        case .any(let directory):
            return try PreferencesDirectory(path: directory).domains(of: user)
        case .managed:
            guard let directory = state.withLock({ $0.system.managed }) else { return [] }
            return try PreferencesDirectory(path: directory).domains(of: user)
        }
    }

    // MARK: Followers

    /// Delivers all change sets to a follower from now on.
    package func add(_ follower: ChangeFollower) {
        state.withLock { $0.add(follower) }
        beginObserving()
    }

    /// Adds a follower if its domains are loaded and up to date, without waiting.
    ///
    /// - Returns: Whether it was added.
    package func addIfLoaded(_ follower: ChangeFollower) -> Bool {
        if isStale { return false }
        let isAdded = state.withLock { state in
            guard follower.names.allSatisfy({ state.isLoaded($0) }) else { return false }
            state.add(follower)
            return true
        }
        if isAdded { beginObserving() }
        return isAdded
    }

    /// Loads a follower's domains, and then adds it, without blocking a thread.
    ///
    /// - Returns: False if the task was canceled first; the follower is then not added.
    package func addLoading(_ follower: ChangeFollower) async -> Bool {
        hold(follower.names)
        defer { release(follower.names) }
        guard await load(Array(follower.names)) else { return false }
        add(follower)
        return true
    }

    /// Stops delivering change sets to a follower.
    package func remove(_ follower: ChangeFollower) {
        release { $0.remove(follower) }
    }

    // MARK: Volatile domains

    /// Returns the names of the volatile domains that a search list may have, in order.
    package func volatileNames(of list: SearchList) -> [String] {
        if state.withLock({ $0.usesLanguages }) { search(list) }
        return state.withLock { $0.volatileNames(of: list) }
    }

    /// Returns the values of a volatile domain, which may be a language of a search list.
    package func volatile(_ name: String, of list: SearchList) -> DomainValues? {
        if state.withLock({ $0.usesLanguages && $0.volatile[name] == nil }) {
            search(list)
            guard list.languages.contains(name) else { return nil }
        }
        return state.withLock { $0.volatileValues(name) }
    }

    /// Changes a volatile domain; `nil` removes it.
    package func changeVolatile(_ name: String, _ change: (DomainValues?) -> DomainValues?) {
        transition { state in ((), state.setVolatile(name, to: change(state.volatile[name]))) }
        FileSuites.retain(self)
    }
}
