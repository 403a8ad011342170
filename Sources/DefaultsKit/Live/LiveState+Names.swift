import DefaultsCore

/// Who uses which names, and the domains that are here for them.
extension LiveState {
    /// A name's domains, on their way here.
    struct NameState {
        /// Whether all its values have come once.
        var isLoaded = false
        /// Whether its changes come; not so where the agent has refused to tell them.
        var isFollowed = true
        /// The domains that the snapshot under way has brought; `nil` when none is.
        var snapshot: Set<Domain>?
        /// Whether followers are to be told of a gap when the snapshot under way is whole.
        var hasGap = false
        /// Who waits for the values.
        var waiting: [Latch] = []

        /// Whether nothing is under way.
        var isAtRest: Bool { isLoaded && snapshot == nil && waiting.isEmpty }
    }

    /// Keeps a name's domains here, once they have come.
    mutating func hold(_ name: DomainName) {
        users[name, default: 0] += 1
        idle.remove(name)
    }

    /// Takes back one `hold`.
    mutating func letGo(_ name: DomainName) {
        guard let count = users[name] else { return }
        users[name] = count > 1 ? count - 1 : nil
        if count == 1, names[name] != nil { idle.add(name) }
    }

    /// Asks for the domains of a name, or waits for those that are asked for.
    ///
    /// The name is to be held by someone.
    mutating func load(_ name: DomainName, _ latch: Latch) {
        if names[name] == nil { wanted.append(name) }
        names[name, default: NameState()].waiting.append(latch)
    }

    /// Lets names go that nobody uses, and whose edits are saved.
    ///
    /// - Returns: the names, whose changes aren't wanted any more.
    mutating func takeUnused() -> [DomainName] {
        var unused: [DomainName] = []
        for name in idle.takeExcess() {
            let domains = replicas.domains(named: name)
            if names[name]?.isAtRest == true, !domains.contains(where: { unsaved.has($0) }) {
                unused.append(name)
                names[name] = nil
                replicas.remove(name)
                for domain in domains { damages[domain] = nil }
            } else {
                idle.add(name)
            }
        }
        return unused
    }

    // MARK: Search lists

    /// A search list, and what it is of, so that it can be made anew.
    struct ListEntry {
        var list: SearchList
        var application: DomainName
        var suites: [DomainName] = []

        /// The names that it searches, each as often as it is there.
        var names: [DomainName] { [application] + suites + [.global] }
    }

    /// Keeps a search list up to date from now on.
    mutating func add(_ list: SearchList, _ application: DomainName) {
        insert(ListEntry(list: list, application: application))
    }

    /// Lets a search list go.
    mutating func remove(_ list: SearchList) { _ = removeEntry(of: list) }

    private mutating func insert(_ entry: ListEntry) {
        let number = ObjectIdentifier(entry.list)
        lists[number] = entry
        for name in entry.names {
            hold(name)
            // All have the global domain.
            if !name.isGlobal { listsByName[name, default: []].insert(number) }
        }
    }

    private mutating func removeEntry(of list: SearchList) -> ListEntry? {
        let number = ObjectIdentifier(list)
        guard let entry = lists.removeValue(forKey: number) else { return nil }
        for name in entry.names {
            letGo(name)
            listsByName[name]?.remove(number)
            if listsByName[name]?.isEmpty == true { listsByName[name] = nil }
        }
        return entry
    }

    /// Whether a search list is kept up to date.
    func has(_ list: SearchList) -> Bool { lists[ObjectIdentifier(list)] != nil }

    /// The names whose domains a search list needs.
    func names(of list: SearchList) -> [DomainName] { lists[ObjectIdentifier(list)]?.names ?? [] }

    /// The suites of a search list, the last one added first.
    func suites(of list: SearchList) -> [DomainName] { lists[ObjectIdentifier(list)]?.suites ?? [] }

    /// Searches through other suites.
    mutating func setSuites(_ suites: [DomainName], of list: SearchList) -> LiveEffects {
        guard var entry = removeEntry(of: list) else { return LiveEffects() }
        entry.suites = suites
        insert(entry)
        return rebuild(entry)
    }

    /// The search lists that may search a layer.
    func lists(searching layer: SearchLayer) -> [SearchList] {
        if case .persistent(let domain) = layer, !domain.name.isGlobal {
            return listsByName[domain.name, default: []].compactMap { lists[$0]?.list }
        }
        return lists.values.map(\.list)
    }
}
