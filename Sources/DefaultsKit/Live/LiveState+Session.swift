import DefaultsCore
import PropertyList

/// What is asked of a session, and what comes of it.
extension LiveState {
    /// Takes the names that no session has been asked for yet, and the edits.
    mutating func takeRequests() -> (names: [DomainName], edits: [EditRequest]) {
        let asked = wanted.filter { name in names[name].map { !$0.isLoaded && $0.snapshot == nil } ?? false }.sorted()
        wanted = []
        for name in asked { names[name]?.snapshot = [] }
        return (asked, unsaved.takeUnasked(session: session))
    }

    /// Takes the edits that no session has been asked for yet; `nil` while names wait to be asked for first.
    mutating func takeEdits() -> [EditRequest]? {
        wanted.isEmpty ? unsaved.takeUnasked(session: session) : nil
    }

    /// Begins with a new session: everything that isn't known to be saved is to be asked for again.
    ///
    /// - Parameters:
    ///   - system: the session's directories below the user's own.
    ///   - continues: whether it may know what happened since the session before.
    /// - Returns: the names whose changes are to go on after a place, and those whose values are to come first.
    mutating func begin(system: SystemDirectories, continues: Bool) -> (start: SessionStart, effects: LiveEffects) {
        for edit in unsaved.beginSession() {
            replicas.change(edit.domain) { $0.mask(edit.values.keys, number: edit.number) }
        }
        unsavedCommits = []
        if !continues { cursor = nil }
        wanted = []
        var start = SessionStart(place: cursor)
        var effects = LiveEffects()
        for (name, state) in names {
            if cursor != nil, state.isLoaded, state.isFollowed, state.snapshot == nil {
                start.resumed.append(name)
            } else {
                if state.isLoaded { names[name]?.hasGap = true }
                names[name]?.snapshot = []
                names[name]?.isFollowed = true
                start.followed.append(name)
            }
        }
        if system != self.system {
            self.system = system
            // Not those that nobody has searched: they would count as searched before their names are here.
            for entry in lists.values where entry.list.hasSearched { effects.add(rebuild(entry)) }
        }
        return (start, effects)
    }

    /// Takes that all changes up to a place have come.
    mutating func reach(_ place: Cursor) { cursor = place }

    /// Takes that the changes of a name won't come, but its values do.
    mutating func noteUnfollowed(_ name: DomainName) { names[name]?.isFollowed = false }

    /// Begins a name's stream again, with its values.
    ///
    /// Followers are told of the gap when the values are here: who reads them then reads none from before it.
    private mutating func restart(_ name: DomainName) {
        names[name]?.snapshot = []
        names[name]?.hasGap = true
    }

    /// Begins the stream of a refuted edit's name again, if the refutation doesn't show here.
    ///
    /// So it is in a child that was forked and took over a value which its parent never saved.
    ///
    /// - Returns: whether the session is to be asked for the name.
    mutating func mustReload(_ commit: Commit) -> Bool {
        let name = commit.domain.name
        guard names[name]?.isAtRest == true, holds(commit.expected, in: commit.domain) else { return false }
        restart(name)
        return true
    }

    /// Takes an event of a name's stream.
    ///
    /// - Returns: whether the stream must be begun again, since something is not known; and what is to be done.
    mutating func take(_ event: StreamEvent, of name: DomainName) -> (mustRestart: Bool, effects: LiveEffects) {
        var effects = LiveEffects()
        var mustRestart = false
        // Of a name that was let go meanwhile.
        if names[name] == nil { return (false, effects) }
        switch event {
        case .record(let record, let cursor):
            self.cursor = cursor
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
        case .bookmark:
            guard let seen = names[name]?.snapshot else { break }
            for domain in replicas.domains(named: name) where !seen.contains(domain) {
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
            if users[name] == nil { idle.add(name) }
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
        let changed = replicas.change(domain) { replica in
            changeSet.changes.filter { replica.receive($0.key, $0.new, own: own) }.map(\.key)
        }
        if let own {
            unsaved.noteMade(own)
        } else if unsaved.has(domain) {
            // What this process has set on a condition is nobody else's, for the edits that are still to be made.
            if changeSet.edit?.session == commitSession { unsaved.noteOwn(changeSet.changes, of: domain) }
            // Not to be set again, should the session be lost: someone else was later.
            unsaved.overrule(changeSet.changes.map(\.key), of: domain)
        }
        refresh(changed, in: .persistent(domain), &effects)
    }

    private mutating func replaceAll(of domain: Domain, with values: DomainValues, _ effects: inout LiveEffects) {
        let values = inherited[domain.name]?.complete(values, of: domain) ?? values
        let changed = replicas.change(domain) { $0.replaceAll(with: values) }
        refresh(changed, in: .persistent(domain), &effects)
    }

    /// Takes that the session has dealt with an edit.
    mutating func accept(_ number: UInt64) -> LiveEffects {
        var effects = LiveEffects()
        guard let edit = unsaved.accept(number) else { return effects }
        // While a snapshot is under way, the edit's own record was perhaps let go with the stream before.
        let isFollowed = names[edit.domain.name].map { $0.isLoaded && $0.isFollowed && $0.snapshot == nil } ?? false
        // It has lost the keys that hold something else: not to be set again, either.
        unsaved.overrule(unmask(edit, isFollowed: isFollowed, &effects), of: edit.domain)
        return effects
    }

    /// Shows the keys of an edit as they are without it, unless it has made them so.
    ///
    /// - Returns: the keys that hold something else now.
    private mutating func unmask(_ edit: UnsavedEdit, isFollowed: Bool, _ effects: inout LiveEffects) -> [String] {
        let changed = replicas.change(edit.domain) {
            $0.accept(edit.values.keys, number: edit.number, isFollowed: isFollowed)
        }
        refresh(changed, in: .persistent(edit.domain), &effects)
        return changed
    }

    /// Takes that the session has refused an edit: it won't be asked for again.
    mutating func refuse(_ number: UInt64) -> LiveEffects {
        var effects = LiveEffects()
        guard let edit = unsaved.accept(number) else { return effects }
        _ = unmask(edit, isFollowed: true, &effects)
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
        let again = unsaved.add(edit)
        replicas.change(edit.domain) { $0.mask(edit.values.keys, number: again) }
        effects.needsSession = true
        return effects
    }

    /// Takes that all edits of a domain up to a number are durable.
    mutating func save(_ domain: Domain, upTo number: UInt64) {
        unsaved.save(domain, upTo: number)
        unsavedCommits.remove(domain)
    }

    /// Takes that a conditional edit of a domain couldn't be saved: the session saves it, and must before the process ends.
    mutating func noteUnsaved(_ domain: Domain) { unsavedCommits.insert(domain) }

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
