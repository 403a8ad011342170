import DefaultsCore

/// The names in use, and the domains that are loaded for them.
extension ClientState {
    /// The state of a name's domains.
    struct NameState {
        /// The progress of loading the domains.
        enum Progress {
            /// The values have yet to be requested; `hasGap` says whether followers get a gap when they arrive.
            case wanted(hasGap: Bool)
            /// The values are arriving for the first time; `seen` are the domains whose values have arrived.
            case loading(seen: Set<Domain>, hasGap: Bool)
            /// All values have arrived.
            case loaded
            /// The values are arriving again, because changes were missed; the earlier ones are in use until then.
            case reloading(seen: Set<Domain>)
        }

        private(set) var progress: Progress
        /// Whether changes to the domains arrive; false if the agent has refused to send them.
        var isFollowed = true
        /// The latches of callers that wait until the domains are loaded.
        var waiters: [Latch] = []

        init(hasGap: Bool = false) { progress = .wanted(hasGap: hasGap) }

        /// Whether the values have yet to be requested.
        var isWanted: Bool { if case .wanted = progress { true } else { false } }

        /// Whether all values have arrived at least once.
        var isLoaded: Bool {
            switch progress {
            case .loaded, .reloading: true
            case .wanted, .loading: false
            }
        }

        /// Whether the domains are loaded and nothing is under way.
        var isAtRest: Bool { if case .loaded = progress { true } else { false } }

        /// Whether the domains have all changes up to the session's latest event.
        var isCurrent: Bool { isAtRest && isFollowed }

        /// Whether followers get a gap if the values arrive once more.
        var hasGap: Bool {
            switch progress {
            case .wanted(let hasGap), .loading(_, let hasGap): hasGap
            case .loaded, .reloading: true
            }
        }

        /// Whether values are arriving after which followers get a gap.
        var isBeforeGap: Bool { !isAtRest && hasGap }

        /// Begins to receive all values, perhaps again, after changes were missed.
        mutating func begin(afterGap isGap: Bool = false) {
            progress = isLoaded ? .reloading(seen: []) : .loading(seen: [], hasGap: isGap || hasGap)
        }

        /// Records that values of a domain have arrived.
        ///
        /// - Returns: Whether these are the first among the values that are arriving.
        mutating func see(_ domain: Domain) -> Bool {
            switch progress {
            case .loading(var seen, let hasGap):
                guard seen.insert(domain).inserted else { return false }
                progress = .loading(seen: seen, hasGap: hasGap)
            case .reloading(var seen):
                guard seen.insert(domain).inserted else { return false }
                progress = .reloading(seen: seen)
            case .wanted, .loaded: return false
            }
            return true
        }

        /// Records that all values have arrived.
        ///
        /// - Returns: The domains that had values, and whether followers get a gap; `nil` if no values were arriving.
        mutating func finish() -> (seen: Set<Domain>, hasGap: Bool)? {
            let hasGap = hasGap
            switch progress {
            case .wanted, .loaded: return nil
            case .loading(let seen, _), .reloading(let seen):
                progress = .loaded
                return (seen, hasGap)
            }
        }

        /// Removes and returns the latches of callers that wait.
        mutating func dequeueWaiters() -> [Latch] {
            defer { waiters = [] }
            return waiters
        }
    }

    /// Adds a user of a name.
    ///
    /// While a name has users, its domains stay in memory once they are loaded.
    mutating func hold(_ name: DomainName) {
        users[name, default: 0] += 1
        idle.remove(name)
    }

    /// Reverses one `hold`.
    mutating func release(_ name: DomainName) {
        guard let count = users[name] else { return }
        users[name] = count > 1 ? count - 1 : nil
        if count == 1, names[name] != nil { idle.add(name) }
    }

    /// Requests the domains of a name, or waits for an earlier request.
    ///
    /// The caller must hold the name.
    mutating func load(_ name: DomainName, opening latch: Latch) {
        if names[name] == nil { wanted.append(name) }
        names[name, default: NameState()].waiters.append(latch)
    }

    /// Removes names without users or unsaved edits beyond the number of idle names to retain.
    ///
    /// - Returns: The removed names, whose changes are no longer needed.
    mutating func removeUnusedNames() -> [DomainName] {
        var unused: [DomainName] = []
        for name in idle.removeExcess() {
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

    /// Whether nothing uses the client, and it has no edits to save.
    var isUnused: Bool { users.isEmpty && unsaved.isEmpty && unsavedCommits.isEmpty }

    /// Forgets all domains if the client is unused, since their changes won't be followed.
    ///
    /// - Returns: Whether it is unused.
    mutating func forgetUnused() -> Bool {
        guard isUnused else { return false }
        for name in names.keys { replicas.remove(name) }
        (names, idle, wanted, damages) = ([:], IdleNames(), [], [:])
        return true
    }

    // MARK: Search lists

    /// A search list, with the application and suites that are needed to rebuild it.
    struct ListEntry {
        var list: SearchList
        var application: DomainName
        var suites: [DomainName] = []

        /// The names that the list searches, including duplicates.
        var names: [DomainName] { [application] + suites + [.global] }
    }

    /// Keeps a search list up to date from now on.
    mutating func add(_ list: SearchList, for application: DomainName) {
        insert(ListEntry(list: list, application: application))
    }

    /// Stops updating a search list.
    mutating func remove(_ list: SearchList) { _ = removeEntry(of: list) }

    private mutating func insert(_ entry: ListEntry) {
        let number = ObjectIdentifier(entry.list)
        lists[number] = entry
        for name in entry.names {
            hold(name)
            // Every list searches the global domain.
            if !name.isGlobal { listsByName[name, default: []].insert(number) }
        }
    }

    private mutating func removeEntry(of list: SearchList) -> ListEntry? {
        let number = ObjectIdentifier(list)
        guard let entry = lists.removeValue(forKey: number) else { return nil }
        for name in entry.names {
            release(name)
            listsByName[name]?.remove(number)
            if listsByName[name]?.isEmpty == true { listsByName[name] = nil }
        }
        return entry
    }

    /// Returns whether a search list is kept up to date.
    func has(_ list: SearchList) -> Bool { lists[ObjectIdentifier(list)] != nil }

    /// Returns the names whose domains a search list needs.
    func names(of list: SearchList) -> [DomainName] { lists[ObjectIdentifier(list)]?.names ?? [] }

    /// Returns the suites of a search list, most recently added first.
    func suites(of list: SearchList) -> [DomainName] { lists[ObjectIdentifier(list)]?.suites ?? [] }

    /// Replaces the suites of a search list.
    mutating func setSuites(_ suites: [DomainName], of list: SearchList) -> ClientEffects {
        guard var entry = removeEntry(of: list) else { return ClientEffects() }
        entry.suites = suites
        insert(entry)
        return rebuild(entry)
    }

    /// Returns the search lists that may search a layer.
    func lists(searching layer: SearchLayer) -> [SearchList] {
        if case .persistent(let domain) = layer, !domain.name.isGlobal {
            return listsByName[domain.name, default: []].compactMap { lists[$0]?.list }
        }
        return lists.values.map(\.list)
    }
}

/// The names whose domains are loaded but not in use.
///
/// Some names are retained, since programs often reopen a suite for each use. Every call takes constant time on
/// average.
struct IdleNames: Sendable {
    /// The names, oldest first, each with the turn in which it was added; an entry is void if `turns` has another turn
    /// for the name, or none.
    private var order: ArraySlice<(name: DomainName, turn: UInt64)> = []
    private var turns: [DomainName: UInt64] = [:]
    private var lastTurn: UInt64 = 0

    /// The number of names to retain.
    static let capacity = 32
    /// The maximum number of names to remove in one call.
    private static let batch = 1_024

    /// Whether there are more names than should be retained.
    var hasExcess: Bool { turns.count > Self.capacity }

    mutating func add(_ name: DomainName) {
        lastTurn += 1
        turns[name] = lastTurn
        order.append((name, lastTurn))
        // Without this, a name that is used repeatedly would make the order grow even if no name is ever removed.
        if order.count > 2 * turns.count + Self.batch { order = order.filter { turns[$0.name] == $0.turn }[...] }
    }

    mutating func remove(_ name: DomainName) { turns[name] = nil }

    /// Removes and returns the oldest names beyond the capacity, up to the limit of one call.
    mutating func removeExcess() -> [DomainName] {
        var removed: [DomainName] = []
        while hasExcess, removed.count < Self.batch, let (name, turn) = order.popFirst() {
            if turns[name] != turn { continue }
            turns[name] = nil
            removed.append(name)
        }
        return removed
    }
}
