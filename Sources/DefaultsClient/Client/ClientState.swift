import DefaultsCore
import PropertyList

/// The domains that a process uses, its own edits on top of them, and the search lists over them.
///
/// A state machine without I/O, a clock or waiting. Its transitions return their side effects, which `Client` performs;
/// the only exception are the search lists, which they update at once. This file has the reads and edits of callers,
/// `ClientState+Session` a session's requests and events, `ClientState+Names` the names in use, and
/// `ClientState+Followers` the followers.
struct ClientState {
    /// The random number that identifies the process in its edits.
    private(set) var session: UInt64
    /// The random number that identifies the process in its conditional edits, which are numbered separately.
    private(set) var commitSession: UInt64
    /// The names whose domains are loaded or requested.
    var names: [DomainName: NameState] = [:]
    /// The number of users of each name: search lists, followers, and calls that are under way.
    var users: [DomainName: Int] = [:]
    /// The loaded names that have no users.
    var idle = IdleNames()
    /// The names that have yet to be requested from the session.
    var wanted: [DomainName] = []
    /// The cursor up to which changes have arrived.
    var cursor: Cursor?
    var replicas = Replicas()
    /// The volatile domains, which exist only in this process.
    private(set) var volatile: [String: DomainValues]
    /// The values of the languages that search lists search or wait for; empty for unknown languages.
    private var languages: [String: DomainValues] = [:]
    /// The languages to use if the user hasn't set any; `nil` if languages domains aren't searched.
    private var defaultLanguages: [String]?
    /// The search lists.
    var lists: [ObjectIdentifier: ListEntry] = [:]
    /// The search lists that search each name, except the global name.
    var listsByName: [DomainName: Set<ObjectIdentifier>] = [:]
    /// The followers of change sets, each with the last edit before it was added.
    var followers: [(follower: ChangeFollower, after: UInt64)] = []
    /// The system directories, whose layers supplement the user's own.
    var system: SystemDirectories

    /// The edits that aren't known to be saved.
    var unsaved = UnsavedEdits()
    /// The domains with conditional edits that couldn't be saved yet.
    var unsavedCommits: Set<Domain> = []
    /// The conditional edits under way, by barrier.
    private var commits: [ObjectIdentifier: CommitUnderWay] = [:]
    /// The barriers that may be waiting for edits to be durable.
    private var barriers: [Barrier] = []
    /// The reasons why edits were refused that no barrier waited for, for the next barrier.
    private var refusals: [DefaultsError] = []
    /// The edits for which the process waits, or has waited, while it is ending: those up to a number, and the
    /// conditional edits of some domains.
    private var handedOver: (upTo: UInt64, commits: Set<Domain>)?
    private var sendingRate = SendingRate()
    /// The unsaved edits of a forked child's parent, until the child's first values have arrived.
    var inherited: [DomainName: InheritedEdits] = [:]

    /// The damage of files, as last reported.
    var damages: [Domain: String] = [:]

    /// The log of a client without files; `nil` if the client has files.
    private(set) var ownLog: ChangeLog?

    init(
        system: SystemDirectories, volatile: [String: DomainValues], inMemory: [Domain: DomainValues]? = nil,
        hasHistory: Bool = false
    ) {
        self.system = system
        self.volatile = volatile
        self.session = .random(in: 1 ... .max)
        self.commitSession = .random(in: 1 ... .max)
        self.ownLog = inMemory.map { _ in hasHistory ? ChangeLog() : ChangeLog(capacity: .init(records: 1)) }
        self.replicas = Replicas(inMemory ?? [:])
    }

    /// Starts over in a forked child: retains the values until they are reloaded, and leaves the parent's edits to the
    /// parent.
    ///
    /// - Returns: The latches of the parent's threads that are waiting for values.
    mutating func startOver() -> [Latch] {
        session = .random(in: 1 ... .max)
        commitSession = .random(in: 1 ... .max)
        unsavedCommits = []
        (barriers, refusals, commits) = ([], [], [:])
        handedOver = nil
        if ownLog != nil { return [] }
        for edit in unsaved.startOver() { inherited[edit.domain.name, default: InheritedEdits()].add(edit) }
        replicas.forgetEdits()
        let latches = names.values.flatMap(\.waiters)
        // Followers may have missed changes.
        names = names.mapValues { NameState(hasGap: $0.hasGap) }
        wanted = Array(names.keys)
        cursor = nil
        return latches
    }

    // MARK: Reading

    /// Returns whether the values of a name are loaded.
    func isLoaded(_ name: DomainName) -> Bool { ownLog != nil || names[name]?.isLoaded == true }

    /// Returns the values of a domain.
    func values(of domain: Domain) -> DomainValues { replicas[domain]?.values ?? [:] }

    /// The domains that have loaded values, in order.
    var domainsWithValues: [Domain] { replicas.domainsWithValues }

    private func values(in layer: SearchLayer) -> DomainValues? {
        switch layer {
        case .persistent(let domain): replicas[domain]?.values
        case .volatile(let name): volatileValues(name)
        }
    }

    /// Returns the value of a key in the first layer that has it.
    private func search(_ layers: [SearchLayer], for key: String) -> PropertyListValue? {
        for layer in layers {
            if let value = values(in: layer)?[key] { return value }
        }
        return nil
    }

    /// Returns every layer that has the key, the winning one first.
    func holders(of key: String, in list: SearchList) -> [(layer: SearchLayer, value: PropertyListValue)] {
        list.layers.compactMap { layer in values(in: layer)?[key].map { (layer, $0) } }
    }

    // MARK: Search lists

    /// Searches a list's layers for every key.
    mutating func fill(_ list: SearchList) -> ClientEffects {
        lists[ObjectIdentifier(list)].map { rebuild($0) } ?? ClientEffects()
    }

    func rebuild(_ entry: ListEntry) -> ClientEffects {
        var effects = ClientEffects()
        guard let names = availableLanguages(of: entry, into: &effects) else { return effects }
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

    func refresh(_ keys: some Collection<String>, in layer: SearchLayer, into effects: inout ClientEffects) {
        if keys.isEmpty { return }
        for list in lists(searching: layer) {
            effects.add(list.refresh(keys, in: layer) { search($0, for: $1) }, in: list)
        }
        if defaultLanguages != nil, keys.contains(Languages.key) { effects.add(refreshLanguages()) }
    }

    // MARK: Volatile domains

    /// Replaces the values of a volatile domain; `nil` removes it.
    mutating func setVolatile(_ name: String, to values: DomainValues?) -> ClientEffects {
        let old = volatileValues(name) ?? [:]
        volatile[name] = values
        let new = volatileValues(name) ?? [:]
        var effects = ClientEffects()
        let keys = Set(old.keys).union(new.keys)
        refresh(keys.filter { old[$0] != new[$0] }, in: .volatile(name), into: &effects)
        return effects
    }

    /// Returns the values of a volatile domain; a domain set by the program hides the language of the same name.
    func volatileValues(_ name: String) -> DomainValues? { volatile[name] ?? languages[name] }

    /// Returns the names of the volatile domains that all lists share, and of one list's languages.
    func volatileNames(of list: SearchList) -> [String] {
        Set(volatile.keys).union(list.languages.filter { volatileValues($0)?.isEmpty == false }).sorted()
    }

    // MARK: Languages

    /// Whether languages domains are searched.
    var usesLanguages: Bool { defaultLanguages != nil }

    /// Includes languages domains in all searches from now on; `names` are the languages to use if the user hasn't set
    /// any.
    mutating func useLanguages(else names: [String]) -> ClientEffects {
        if defaultLanguages != nil { return ClientEffects() }
        defaultLanguages = names
        return refreshLanguages()
    }

    /// Adds the values of languages that were requested.
    mutating func add(_ values: [String: DomainValues]) -> ClientEffects {
        languages.merge(values) { old, _ in old }
        let effects = refreshLanguages()
        dropLanguages()
        return effects
    }

    /// Drops languages that no list searches or would search if it were rebuilt.
    ///
    /// A list that waits for its first search has no languages yet, but must find those that it requested; otherwise it
    /// would request them forever. Languages are dropped when others are added, and not when a list is removed, since
    /// the program's next list is likely to search the same languages.
    private mutating func dropLanguages() {
        var kept: Set<String> = []
        for entry in lists.values { kept.formUnion(entry.list.languages + languageNames(of: entry)) }
        languages = languages.filter { kept.contains($0.key) }
    }

    /// Rebuilds the search lists whose languages have changed.
    private func refreshLanguages() -> ClientEffects {
        var effects = ClientEffects()
        for entry in lists.values where entry.list.hasSearched {
            if languageNames(of: entry) != entry.list.languages { effects.add(rebuild(entry)) }
        }
        return effects
    }

    /// Returns the languages that a search list should search.
    private func languageNames(of entry: ListEntry) -> [String] {
        guard let defaultLanguages else { return [] }
        let layers = SearchLayer.layers(for: entry.application, suites: entry.suites, in: system)
        return Languages.names(of: search(layers, for: Languages.key), else: defaultLanguages)
    }

    /// Returns the languages that a search list can search now, and requests those whose values are missing.
    ///
    /// - Returns: The list's previous languages until all requested ones are available, so that it always has some;
    ///   `nil` if it has none yet and must wait.
    private func availableLanguages(of entry: ListEntry, into effects: inout ClientEffects) -> [String]? {
        let names = languageNames(of: entry)
        let missing = names.filter { languages[$0] == nil }
        if missing.isEmpty { return names }
        effects.languages.formUnion(missing)
        return entry.list.hasSearched ? entry.list.languages : nil
    }

    // MARK: Editing

    /// Replaces all keys of a domain, except for some that keep their values.
    mutating func replace(
        _ domain: Domain, with values: DomainValues, except refused: Set<String>, at time: Timestamp
    ) -> ClientEffects {
        var difference = Difference(uniqueKeysWithValues: values.map { ($0, .some($1)) })
        for key in self.values(of: domain).keys where values[key] == nil { difference[key] = .some(nil) }
        for key in refused { difference.removeValue(forKey: key) }
        return edit(domain, with: difference, at: time)
    }

    /// Sets and removes keys of a domain.
    ///
    /// - Parameters:
    ///   - domain: The domain.
    ///   - values: The keys to set or remove.
    ///   - isWhole: Whether nothing is set if one of the values is refused.
    ///   - time: The time of the edit.
    ///   - origin: The reason for an edit in memory.
    /// - Returns: The effects.
    mutating func edit(
        _ domain: Domain, with values: Difference, asWhole isWhole: Bool = false, at time: Timestamp,
        origin: Origin? = nil
    ) -> ClientEffects {
        let (changes, old) = changes(of: domain, by: values)
        if changes.isEmpty { return ClientEffects() }
        var effects = ClientEffects()
        if ownLog != nil {
            replicas.change(domain) { replica in
                for (key, value) in changes { _ = replica.receive(key, with: value, own: nil) }
            }
            let changeSet = ChangeSet(
                domain: domain, source: .app(.current),
                changes: changes.map { KeyChange(key: $0, old: old[$0], new: $1) },
                edit: EditIdentity(session: session, number: 1), origin: origin)
            publishOwn(changeSet, at: time, into: &effects)
        } else {
            let number = unsaved.add(
                UnsavedEdit(domain: domain, values: changes, isWhole: isWhole, replacing: old, time: time))
            replicas.change(domain) { $0.edit(changes, number: number) }
            effects.needsSession = true
            effects.isSentByCaller = sendingRate.admits(time, unanswered: unsaved.unaccepted)
        }
        refresh(changes.keys, in: .persistent(domain), into: &effects)
        return effects
    }

    /// Sets and removes keys of a domain in memory if certain keys still have their expected values.
    ///
    /// - Returns: Whether the keys had these values, so that the edit was made; and the effects.
    mutating func commit(_ commit: Commit, at time: Timestamp) -> (isMade: Bool, effects: ClientEffects) {
        guard holds(commit.expected, in: commit.domain) else { return (false, ClientEffects()) }
        return (true, edit(commit.domain, with: commit.values, at: time, origin: commit.origin))
    }

    /// Returns whether keys of a domain have certain values here; `nil` stands for no value.
    func holds(_ expected: Difference, in domain: Domain) -> Bool {
        let values = replicas[domain]?.values
        return expected.allSatisfy { key, value in values?[key] == value }
    }

    /// Returns the part of an edit to carry out, and the previous values of its keys.
    ///
    /// Every key is sent to the store, even if its value is the same here: another process may have changed it. No
    /// other process changes values in memory, so only real changes count there.
    ///
    /// This is a separate function so that it leaves no second reference to the dictionary, which would have to be
    /// copied when it is changed.
    private func changes(of domain: Domain, by values: Difference) -> (changes: Difference, old: DomainValues) {
        let all = replicas[domain]?.values ?? [:]
        let changes = ownLog == nil ? values : values.filter { $1 != all[$0] }
        var old = DomainValues()
        for key in changes.keys { old[key] = all[key] }
        return (changes, old)
    }

    private mutating func publishOwn(_ changeSet: ChangeSet, at time: Timestamp, into effects: inout ClientEffects) {
        guard let record = ownLog?.append(.change(changeSet), at: time), let epoch = ownLog?.epoch else { return }
        publish(.record(record, cursor: Cursor(epoch: epoch, revision: record.revision)), into: &effects)
    }

    // MARK: Conditional edits

    private struct CommitUnderWay {
        let commit: Commit
        /// The keys that another thread changes based on values from before the edit.
        var overtaken: Set<String> = []
    }

    /// Begins a conditional edit, which other threads may overtake.
    mutating func begin(_ commit: Commit) {
        commits[ObjectIdentifier(commit.barrier)] = CommitUnderWay(commit: commit)
    }

    /// Ends a conditional edit.
    mutating func end(_ commit: Commit) { commits[ObjectIdentifier(commit.barrier)] = nil }

    /// Returns whether another thread overwrites what a conditional edit has set.
    func isOvertaken(_ commit: Commit) -> Bool {
        commits[ObjectIdentifier(commit.barrier)]?.overtaken.isEmpty == false
    }

    /// Records that a thread is about to read a key, and to change its value.
    mutating func overtakeCommits(of key: String, in domain: Domain) {
        for (number, one) in commits where one.commit.domain == domain && one.commit.values[key] != nil {
            commits[number]?.overtaken.insert(key)
        }
    }

    /// Records that the thread has read the value that a conditional edit has set.
    mutating func followCommits(of key: String, in domain: Domain, having value: PropertyListValue?) {
        for (number, one) in commits where one.commit.domain == domain && one.commit.values[key] == .some(value) {
            commits[number]?.overtaken.remove(key)
        }
    }

    /// Records that the thread has set nothing.
    mutating func letCommitsStand(of key: String, in domain: Domain) {
        for (number, one) in commits where one.commit.domain == domain { commits[number]?.overtaken.remove(key) }
    }

    /// Returns a barrier that waits until the edits so far are durable.
    mutating func beginBarrier() -> Barrier {
        let barrier = Barrier(.durable, upTo: unsaved.seal(), after: refusals)
        refusals = []
        barriers.removeAll { $0.hasFinished }
        barriers.append(barrier)
        return barrier
    }

    /// Records why the session refused an edit, for every barrier that waits for it, or else for the next one.
    ///
    /// - Parameters:
    ///   - first: The edit's first number.
    ///   - error: The reason.
    mutating func record(refusalOf first: UInt64, because error: DefaultsError) {
        // Only this thread finishes barriers.
        let waiting = barriers.filter { !$0.hasFinished && $0.last >= first }
        for barrier in waiting { barrier.refuse(error) }
        if waiting.isEmpty, refusals.count < Self.maximumRefusals { refusals.append(error) }
    }

    /// Records that no caller waits for a barrier anymore; the next one gets the refusals that it has.
    mutating func leave(_ barrier: Barrier) {
        barriers.removeAll { $0 === barrier }
        refusals += barrier.refusals.prefix(Self.maximumRefusals - refusals.count)
    }

    private static let maximumRefusals = 16

    /// Whether edits may be lost when the process ends for which it hasn't waited.
    var mustHandOver: Bool {
        if unsaved.isEmpty, unsavedCommits.isEmpty { return false }
        return handedOver.map { $0.upTo < unsaved.last || !unsavedCommits.isSubset(of: $0.commits) } ?? true
    }

    /// Begins to wait for the edits until now; later ones needn't be accepted.
    mutating func beginHandingOver() { handedOver = (unsaved.seal(), unsavedCommits) }

    /// The number of edits that the process waits for and that the session has yet to process.
    var awaitedEdits: Int { unsaved.unaccepted(upTo: handedOver?.upTo ?? unsaved.last) }

    /// The user's domains that are in use.
    var domainsInUse: [Domain] { names.keys.flatMap { Domain.ofUser($0) } }
}
