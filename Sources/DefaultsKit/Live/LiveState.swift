import DefaultsCore
import PropertyList

/// The domains that a process uses, its own edits on top of them, and the search lists over them.
///
/// Pure but for the search lists, which it keeps up to date: no I/O, no clock, no wait. What must be done about a
/// transition is returned, and done by `LiveDomains` afterwards. Here is what callers ask of it; what is asked of a session and
/// comes of it is in `LiveState+Session`, who uses which names in `LiveState+Names`, who follows in `LiveState+Followers`.
struct LiveState {
    /// The process's number, for its edits.
    private(set) var session: UInt64
    /// The same for its conditional edits, which have numbers of their own.
    private(set) var commitSession: UInt64
    /// The names whose domains are in use.
    var names: [DomainName: NameState] = [:]
    /// How many use each name: search lists, followers, and calls that are under way.
    var users: [DomainName: Int] = [:]
    /// The names that are here, and that nobody uses.
    var idle = IdleNames()
    /// The names that the session is still to be asked for.
    var wanted: [DomainName] = []
    /// The place in the agent's log up to which changes have come.
    var cursor: Cursor?
    var replicas = Replicas()
    /// The domains of this process alone.
    private(set) var volatile: [String: DomainValues]
    /// The values of the languages that search lists search, or wait for; empty for one that is none.
    private var languages: [String: DomainValues] = [:]
    /// The languages of a user who has set none; `nil` unless languages domains are searched.
    private var defaultLanguages: [String]?
    /// The search lists; and those that search each name but the global one.
    var lists: [ObjectIdentifier: ListEntry] = [:]
    var listsByName: [DomainName: Set<ObjectIdentifier>] = [:]
    /// Who follows change sets.
    var followers: [(follower: ChangeFollower, after: UInt64)] = []
    /// The layers below the user's own.
    var system: SystemDirectories

    /// The edits that aren't known to be saved.
    var unsaved = UnsavedEdits()
    /// The domains with conditional edits that couldn't be saved yet.
    var unsavedCommits: Set<Domain> = []
    private var sendingRate = SendingRate()
    /// The edits of a forked child's parent, until the first values have come.
    var inherited: [DomainName: InheritedEdits] = [:]

    /// What is wrong with files, as it was told.
    var damages: [Domain: String] = [:]

    /// The log of a process that has no files; `nil` for one that has.
    private var ownLog: ChangeLog?

    init(system: SystemDirectories, volatile: [String: DomainValues], inMemory: [Domain: DomainValues]? = nil) {
        self.system = system
        self.volatile = volatile
        self.session = .random(in: 1 ... .max)
        self.commitSession = .random(in: 1 ... .max)
        self.ownLog = inMemory.map { _ in ChangeLog(capacity: .init(records: 1)) }
        self.replicas = Replicas(inMemory ?? [:])
    }

    /// Starts over in a forked child: keeps the values until they are loaded anew, and leaves the parent's edits to the parent.
    ///
    /// - Returns: the latches of the parent's threads that waited for values.
    mutating func startOver() -> [Latch] {
        session = .random(in: 1 ... .max)
        commitSession = .random(in: 1 ... .max)
        unsavedCommits = []
        if ownLog != nil { return [] }
        for edit in unsaved.startOver() { inherited[edit.domain.name, default: InheritedEdits()].add(edit) }
        replicas.forgetEdits()
        let latches = names.values.flatMap(\.waiting)
        // Followers may have missed something.
        names = names.mapValues { NameState(hasGap: $0.isLoaded || $0.hasGap) }
        wanted = Array(names.keys)
        cursor = nil
        return latches
    }

    // MARK: Reading

    /// Whether the values of a name are here.
    func isLoaded(_ name: DomainName) -> Bool { ownLog != nil || names[name]?.isLoaded == true }

    /// The values of a domain.
    func values(of domain: Domain) -> DomainValues { replicas[domain]?.values ?? [:] }

    /// The domains that have values here, in order.
    var domainsWithValues: [Domain] { replicas.domainsWithValues }

    private func values(in layer: SearchLayer) -> DomainValues? {
        switch layer {
        case .persistent(let domain): replicas[domain]?.values
        case .volatile(let name): volatileValues(name)
        }
    }

    /// The first layer's value that has the key.
    private func search(_ layers: [SearchLayer], _ key: String) -> PropertyListValue? {
        for layer in layers {
            if let value = values(in: layer)?[key] { return value }
        }
        return nil
    }

    /// Every layer that has the key, the winning one first.
    func holders(of key: String, in list: SearchList) -> [(layer: SearchLayer, value: PropertyListValue)] {
        list.layers.compactMap { layer in values(in: layer)?[key].map { (layer, $0) } }
    }

    // MARK: Search lists

    /// Searches for every key.
    mutating func fill(_ list: SearchList) -> LiveEffects {
        lists[ObjectIdentifier(list)].map { rebuild($0) } ?? LiveEffects()
    }

    func rebuild(_ entry: ListEntry) -> LiveEffects {
        var effects = LiveEffects()
        guard let names = takeableLanguages(of: entry, &effects) else { return effects }
        let layers = SearchLayer.layers(
            for: entry.application, suites: entry.suites, in: system, languages: names)
        var found: DomainValues = [:]
        for layer in layers.reversed() {
            guard let values = values(in: layer) else { continue }
            if found.isEmpty { found = values } else { found.merge(values) { $1 } }
        }
        effects.add(entry.list.replace(layers: layers, values: found), in: entry.list)
        return effects
    }

    func refresh(_ keys: some Collection<String>, in layer: SearchLayer, _ effects: inout LiveEffects) {
        if keys.isEmpty { return }
        for list in lists(searching: layer) {
            effects.add(list.refresh(keys, in: layer) { search($0, $1) }, in: list)
        }
        if defaultLanguages != nil, keys.contains(Languages.key) { effects.add(refreshLanguages()) }
    }

    // MARK: Volatile domains

    /// Changes a volatile domain; `nil` removes it.
    mutating func setVolatile(_ name: String, to values: DomainValues?) -> LiveEffects {
        let old = volatileValues(name) ?? [:]
        volatile[name] = values
        let new = volatileValues(name) ?? [:]
        var effects = LiveEffects()
        let keys = Set(old.keys).union(new.keys)
        refresh(keys.filter { old[$0] != new[$0] }, in: .volatile(name), &effects)
        return effects
    }

    /// The values of a volatile domain; one that the program has set stands for the language of its name.
    func volatileValues(_ name: String) -> DomainValues? { volatile[name] ?? languages[name] }

    /// The names of the volatile domains: those of all lists, and the languages of one.
    func volatileNames(of list: SearchList) -> [String] {
        Set(volatile.keys).union(list.languages.filter { volatileValues($0)?.isEmpty == false }).sorted()
    }

    // MARK: Languages

    /// Whether languages domains are searched.
    var usesLanguages: Bool { defaultLanguages != nil }

    /// Searches languages domains from now on, those of a user who has set none being known.
    mutating func useLanguages(else names: [String]) -> LiveEffects {
        if defaultLanguages != nil { return LiveEffects() }
        defaultLanguages = names
        return refreshLanguages()
    }

    /// Takes the values of languages that were asked for.
    mutating func add(_ values: [String: DomainValues]) -> LiveEffects {
        languages.merge(values) { old, _ in old }
        let effects = refreshLanguages()
        dropLanguages()
        return effects
    }

    /// Drops the languages that no list searches, or would when it is searched anew.
    ///
    /// A list that waits for its first search has none yet, but must find what it asked for; else it would ask for ever.
    /// Done when others come, and not when a list goes: the next list of the program is likely to search the same ones.
    private mutating func dropLanguages() {
        var kept: Set<String> = []
        for entry in lists.values { kept.formUnion(entry.list.languages + languageNames(of: entry)) }
        languages = languages.filter { kept.contains($0.key) }
    }

    /// Makes those search lists anew whose languages are others now.
    private func refreshLanguages() -> LiveEffects {
        var effects = LiveEffects()
        for entry in lists.values where entry.list.hasSearched {
            if languageNames(of: entry) != entry.list.languages { effects.add(rebuild(entry)) }
        }
        return effects
    }

    /// The languages that a search list is to search.
    private func languageNames(of entry: ListEntry) -> [String] {
        guard let defaultLanguages else { return [] }
        let layers = SearchLayer.layers(for: entry.application, suites: entry.suites, in: system)
        return Languages.names(of: search(layers, Languages.key), else: defaultLanguages)
    }

    /// The languages that a search list can search now; those it has no values of are asked for.
    ///
    /// - Returns: its languages so far until all that are asked for are here, so that nobody sees a moment without;
    ///   `nil` if it hasn't any yet, and must wait.
    private func takeableLanguages(of entry: ListEntry, _ effects: inout LiveEffects) -> [String]? {
        let names = languageNames(of: entry)
        let missing = names.filter { languages[$0] == nil }
        if missing.isEmpty { return names }
        effects.languages.formUnion(missing)
        return entry.list.hasSearched ? entry.list.languages : nil
    }

    // MARK: Editing

    /// Removes all keys of a domain, and sets others.
    mutating func replace(_ domain: Domain, with values: DomainValues, at time: Timestamp) -> LiveEffects {
        var difference = Difference(uniqueKeysWithValues: values.map { ($0, .some($1)) })
        for key in self.values(of: domain).keys where values[key] == nil { difference[key] = .some(nil) }
        return edit(domain, difference, at: time)
    }

    /// Sets and removes keys of a domain; what isn't changed by it is left out.
    mutating func edit(_ domain: Domain, _ values: Difference, at time: Timestamp) -> LiveEffects {
        let (changes, old) = changes(of: domain, by: values)
        if changes.isEmpty { return LiveEffects() }
        var effects = LiveEffects()
        if ownLog != nil {
            replicas.change(domain) { replica in
                for (key, value) in changes { _ = replica.receive(key, value, own: nil) }
            }
            let changeSet = ChangeSet(
                domain: domain, source: .app(.current),
                changes: changes.map { KeyChange(key: $0, old: old[$0], new: $1) },
                edit: EditIdentity(session: session, number: 1))
            postOwn(changeSet, at: time, &effects)
        } else {
            let number = unsaved.add(UnsavedEdit(domain: domain, values: changes, replacing: old, time: time))
            replicas.change(domain) { $0.edit(changes, number: number) }
            effects.needsSession = true
            effects.isSentByCaller = sendingRate.admits(time, unanswered: unsaved.unaccepted)
        }
        refresh(changes.keys, in: .persistent(domain), &effects)
        return effects
    }

    /// Sets and removes keys if certain keys still hold the expected values, in domains that are in memory alone.
    ///
    /// - Returns: whether they do.
    mutating func commit(_ commit: Commit, at time: Timestamp) -> (isMade: Bool, effects: LiveEffects) {
        guard holds(commit.expected, in: commit.domain) else { return (false, LiveEffects()) }
        return (true, edit(commit.domain, commit.values, at: time))
    }

    /// Whether keys of a domain hold certain values here, `nil` for none.
    func holds(_ expected: Difference, in domain: Domain) -> Bool {
        let values = replicas[domain]?.values
        return expected.allSatisfy { key, value in values?[key] == value }
    }

    /// What of an edit changes something, and what the keys hold that it changes.
    ///
    /// A call of its own, so that nobody else holds the dictionary when it is changed, and it need not be copied.
    private func changes(of domain: Domain, by values: Difference) -> (changes: Difference, old: DomainValues) {
        guard let all = replicas[domain]?.values else { return (values.filter { $1 != nil }, [:]) }
        // Of a file that can't be taken, not even what is in force is saved.
        let isDamaged = damages[domain] != nil
        var (changes, old) = (values, DomainValues())
        for (key, value) in values {
            let before = all[key]
            if before == value, !isDamaged { changes.removeValue(forKey: key) } else { old[key] = before }
        }
        return (changes, old)
    }

    private mutating func postOwn(_ changeSet: ChangeSet, at time: Timestamp, _ effects: inout LiveEffects) {
        guard let record = ownLog?.append(.change(changeSet), at: time), let epoch = ownLog?.epoch else { return }
        post(.record(record, cursor: Cursor(epoch: epoch, revision: record.revision)), &effects)
    }

    /// Whether edits may be lost when the process ends.
    var mustHandOver: Bool { !unsaved.isEmpty || !unsavedCommits.isEmpty }

    /// The user's domains that are in use.
    var domainsInUse: [Domain] { names.keys.flatMap { Domain.ofUser($0) } }

    /// Whether a session has dealt with every edit, so that it outlives the process if the session is an agent's.
    var isAccepted: Bool { unsaved.isAccepted }

    /// The number of edits that the session has yet to deal with.
    var unaccepted: Int { unsaved.unaccepted }
}
