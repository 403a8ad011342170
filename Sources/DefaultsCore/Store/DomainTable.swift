import PropertyList

/// The states of a store's domains, indexed by domain and by name.
///
/// The states of domains at rest are kept in a smaller form, which the table's users don't notice.
struct DomainTable: Sequence {
    private var atRest: [Domain: DomainAtRest] = [:]
    /// The states of all domains that aren't at rest, such as those with pending edits, damage or other problems.
    private(set) var inUse: [Domain: DomainState] = [:]
    /// The domains of single hosts and of other users that have a state, by name.
    private var special: [DomainName: Set<Domain>] = [:]

    var keys: [Domain] { Array(atRest.keys) + Array(inUse.keys) }

    /// Returns the domains with a given name that have a state.
    func domains(named name: DomainName) -> Set<Domain> {
        var domains = special[name] ?? []
        let usual = Domain(name)
        if atRest.index(forKey: usual) != nil || inUse.index(forKey: usual) != nil { domains.insert(usual) }
        return domains
    }

    /// The hashes of the files of domains at rest.
    var hashesAtRest: some Sequence<(Domain, ContentHash)> { atRest.lazy.map { ($0, $1.hash) } }

    /// Prepares the table for a number of domains at rest.
    mutating func reserveCapacity(_ count: Int) { atRest.reserveCapacity(count) }

    /// Adds a domain that isn't in the table yet.
    mutating func add(_ domainAtRest: DomainAtRest, as domain: Domain) {
        atRest[domain] = domainAtRest
        index(domain, isKnown: true)
    }

    func makeIterator() -> AnyIterator<(Domain, DomainState)> {
        var (atRest, inUse) = (atRest.makeIterator(), inUse.makeIterator())
        return AnyIterator { atRest.next().map { ($0, $1.state) } ?? inUse.next().map { ($0, $1) } }
    }

    subscript(domain: Domain) -> DomainState? {
        get { inUse[domain] ?? atRest[domain]?.state }
        set {
            let domainAtRest = newValue.flatMap(DomainAtRest.init)
            atRest[domain] = domainAtRest
            inUse[domain] = domainAtRest == nil ? newValue : nil
            index(domain, isKnown: newValue != nil)
        }
        _modify {
            let count = inUse.count
            let wasAtRest = wake(domain)
            defer { if wasAtRest || inUse.count != count { settle(domain) } }
            yield &inUse[domain]
        }
    }

    subscript(domain: Domain, default state: @autoclosure () -> DomainState) -> DomainState {
        get { self[domain] ?? state() }
        _modify {
            let count = inUse.count
            let wasAtRest = wake(domain)
            defer { if wasAtRest || inUse.count != count { settle(domain) } }
            yield &inUse[domain, default: state()]
        }
    }

    /// Prepares a domain's state to be changed; returns whether the domain was at rest.
    private mutating func wake(_ domain: Domain) -> Bool {
        // Most changed domains are in use, and are found with one lookup.
        guard inUse.index(forKey: domain) == nil, let domainAtRest = atRest.removeValue(forKey: domain) else {
            return false
        }
        inUse[domain] = domainAtRest.state
        return true
    }

    /// Finds the right form for a domain's state after a change.
    private mutating func settle(_ domain: Domain) {
        let state = inUse[domain]
        if let state, let domainAtRest = DomainAtRest(state) {
            atRest[domain] = domainAtRest
            inUse[domain] = nil
        }
        index(domain, isKnown: state != nil)
    }

    private mutating func index(_ domain: Domain, isKnown: Bool) {
        if domain.isUsual { return }
        if isKnown {
            special[domain.name, default: []].insert(domain)
        } else {
            special[domain.name]?.remove(domain)
        }
    }
}

/// The state of a domain that hasn't been used since its file, of moderate size, was read.
///
/// It takes a fraction of the memory of a `DomainState`, which has room for everything that use brings about: edits,
/// earlier versions, problems. So an unused domain costs little more than the bytes of its file.
struct DomainAtRest {
    private let file: FileVersion
    private let values: FileValues
    private let time: Timestamp
    private let format: PropertyListFormat

    /// The hash of the file.
    var hash: ContentHash { file.hash }

    /// Creates the state after a file's first reading; fails if there is more to know than these contents.
    init?(_ contents: FileContents) {
        guard contents.stored.areBytes, !contents.hasEquivalentKeys else { return nil }
        file = contents.version
        values = contents.stored.moved()
        time = contents.time
        format = contents.format
    }

    /// Creates the small form of a state; fails if anything would be lost.
    init?(_ state: DomainState) {
        guard state.merge.stored.areBytes, state.merge.versions.isNew, state.merge.pending.isEmpty,
            state.merge.keyTimes.isEmpty, case .usable(let file) = state.fileState, state.missingSince == nil,
            state.earlierVersions.isEmpty, state.equivalentKeys == nil, state.backedUp == nil, state.intent == nil,
            state.failure == nil, !state.isTroubled, state.lostChangeSets.isEmpty, state.complete == 0,
            state.unread == nil
        else { return nil }
        self.file = file
        values = state.merge.stored
        time = state.merge.baseTime
        format = state.format
    }

    /// The whole state.
    var state: DomainState {
        var state = DomainState()
        state.merge = Merge(base: values, baseTime: time)
        state.merge.versions.newestHash = file.hash
        state.setFile(file)
        state.format = format
        return state
    }
}
