import DefaultsCore
import PropertyList

/// What is asked of a session, and what comes of it.
extension LiveState {
    /// Takes the names that no session has been asked for yet, and the edits.
    mutating func takeRequests() -> (names: [DomainName], edits: [EditRequest]) {
        let wanted = names.filter { !$1.isLoaded && $1.snapshot == nil }.keys.sorted()
        for name in wanted { names[name]?.snapshot = [] }
        return (wanted, unsaved.takeUnasked(session: session))
    }

    /// Begins with a new session: everything that isn't known to be saved is to be asked for again.
    ///
    /// - Returns: from where each name's stream is to go on.
    mutating func begin(
        system: SystemDirectories, continues: Bool
    ) -> (starts: [(DomainName, Subscription.Start)], effects: LiveEffects) {
        for edit in unsaved.beginSession() { replicas[edit.domain]?.mask(edit.values.keys, number: edit.number) }
        var starts: [(DomainName, Subscription.Start)] = []
        var effects = LiveEffects()
        for (name, state) in names {
            if continues, state.isLoaded, let cursor = state.cursor, state.snapshot == nil {
                starts.append((name, .after(cursor)))
            } else {
                if state.isLoaded { names[name]?.hasGap = true }
                names[name]?.snapshot = []
                starts.append((name, .snapshot))
            }
        }
        if system != self.system {
            self.system = system
            // Not those that nobody has searched: they would count as searched before their names are here.
            for index in lists.indices where lists[index].list.hasSearched { effects.add(rebuild(index)) }
        }
        return (starts, effects)
    }

    /// Begins a name's stream again, with its values.
    ///
    /// Followers are told of the gap when the values are here: who reads them then reads none from before it.
    private mutating func restart(_ name: DomainName) {
        names[name]?.snapshot = []
        names[name]?.hasGap = true
    }

    /// Takes an event of a name's stream.
    ///
    /// - Returns: whether the stream must be begun again, since something is not known; and what is to be done.
    mutating func take(_ event: StreamEvent, of name: DomainName) -> (mustRestart: Bool, effects: LiveEffects) {
        var effects = LiveEffects()
        var mustRestart = false
        switch event {
        case .record(let record, let cursor):
            names[name]?.cursor = cursor
            switch record.event {
            case .change(let changeSet): take(changeSet, of: name, &effects)
            case .unknown: mustRestart = true
            case .damaged(let domain, let reason): note(reason, of: domain, &effects)
            case .recovered(let domain): note(nil, of: domain, &effects)
            // Told of by who waits for the edits.
            case .unsaved: break
            }
            post(event, &effects)
            if mustRestart { restart(name) }
        case .initial(let snapshot):
            names[name]?.snapshot?.insert(snapshot.domain)
            note(snapshot.damage, of: snapshot.domain, &effects)
            replaceAll(of: snapshot.domain, with: snapshot.values, &effects)
        case .gap:
            restart(name)
        case .bookmark(let cursor):
            names[name]?.cursor = cursor
            guard let seen = names[name]?.snapshot else { break }
            for domain in replicas.keys where domain.name == name && !seen.contains(domain) {
                replaceAll(of: domain, with: [:], &effects)
            }
            names[name]?.snapshot = nil
            names[name]?.isLoaded = true
            inherited[name] = nil
            if names[name]?.hasGap == true {
                names[name]?.hasGap = false
                postGap(of: name, &effects)
            }
            effects.latches += names[name]?.waiting ?? []
            names[name]?.waiting = []
        case .ended:
            mustRestart = true
            restart(name)
        }
        return (mustRestart, effects)
    }

    /// Notes what is wrong with a domain's file, to be told once.
    private mutating func note(_ damage: String?, of domain: Domain, _ effects: inout LiveEffects) {
        if let damage, damages[domain] != damage { effects.problems.append(DefaultsError(.damaged, damage)) }
        damages[domain] = damage
    }

    private mutating func take(_ changeSet: ChangeSet, of name: DomainName, _ effects: inout LiveEffects) {
        let domain = changeSet.domain
        if let seen = names[name]?.snapshot, !seen.contains(domain) {
            // Its first values since the snapshot began, which had none.
            names[name]?.snapshot?.insert(domain)
            replaceAll(of: domain, with: [:], &effects)
        }
        if changeSet.source == .file { damages[domain] = nil }
        let own = changeSet.edit.flatMap { $0.session == session ? $0.number : nil }
        var changed: [String] = []
        for change in changeSet.changes
        where replicas[domain, default: Replica()].receive(change.key, change.new, own: own) {
            changed.append(change.key)
        }
        // Not to be set again, should the session be lost: someone else was later.
        if own == nil, !unsaved.isEmpty { unsaved.overrule(Set(changed), of: domain) }
        refresh(changed, in: .persistent(domain), &effects)
    }

    private mutating func replaceAll(of domain: Domain, with values: DomainValues, _ effects: inout LiveEffects) {
        let values = inherited[domain.name]?.complete(values, of: domain) ?? values
        let changed = replicas[domain, default: Replica()].replaceAll(with: values)
        refresh(changed, in: .persistent(domain), &effects)
    }

    /// Takes that the session has dealt with an edit.
    mutating func accept(_ number: UInt64) -> LiveEffects {
        var effects = LiveEffects()
        guard let edit = unsaved.accept(number) else { return effects }
        // While a snapshot is under way, the edit's own record was perhaps let go with the stream before.
        let isFollowed = names[edit.domain.name].map { $0.isLoaded && $0.snapshot == nil } ?? false
        unmask(edit, isFollowed: isFollowed, &effects)
        return effects
    }

    private mutating func unmask(_ edit: UnsavedEdit, isFollowed: Bool, _ effects: inout LiveEffects) {
        let changed = replicas[edit.domain]?.accept(edit.values.keys, number: edit.number, isFollowed: isFollowed) ?? []
        refresh(changed, in: .persistent(edit.domain), &effects)
    }

    /// Takes that the session has refused an edit: it won't be asked for again.
    mutating func refuse(_ number: UInt64) -> LiveEffects {
        var effects = LiveEffects()
        guard let edit = unsaved.accept(number) else { return effects }
        unmask(edit, isFollowed: true, &effects)
        unsaved.drop(number)
        return effects
    }

    /// Takes that an edit came so late that others have written since: it is asked for again with what it replaces, so that
    /// the keys are set that nobody else has.
    mutating func compare(_ number: UInt64) -> LiveEffects {
        var effects = LiveEffects()
        guard var edit = unsaved.accept(number) else { return effects }
        unsaved.drop(number)
        edit.values = edit.values.filter { replicas[edit.domain]?.isMasked($0.key, by: number) == true }
        guard !edit.values.isEmpty else { return effects }
        edit.isLate = true
        replicas[edit.domain]?.mask(edit.values.keys, number: unsaved.add(edit))
        effects.needsSession = true
        return effects
    }

    /// Takes that all edits of a domain up to a number are durable.
    mutating func save(_ domain: Domain, upTo number: UInt64) { unsaved.save(domain, upTo: number) }

    /// Lets those go on who wait for values that won't come.
    mutating func abandonWaiting() -> LiveEffects {
        var effects = LiveEffects()
        for name in names.keys {
            effects.latches += names[name]?.waiting ?? []
            names[name]?.waiting = []
        }
        return effects
    }
}
