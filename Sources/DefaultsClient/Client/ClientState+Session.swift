import DefaultsCore
import PropertyList

/// The requests to a session, and its events.
extension ClientState {
    /// Dequeues the names and the edits that haven't been requested from a session yet.
    mutating func dequeueRequests() -> (names: [DomainName], edits: [EditRequest]) {
        let requested = wanted.filter { names[$0]?.isWanted == true }.sorted()
        wanted = []
        for name in requested { names[name]?.begin() }
        return (requested, unsaved.dequeueUnsent(session: session))
    }

    /// Dequeues the edits that haven't been requested from a session yet; `nil` if names must be requested first.
    mutating func dequeueEdits() -> [EditRequest]? {
        wanted.isEmpty ? unsaved.dequeueUnsent(session: session) : nil
    }

    /// Begins a new session, to which all edits that aren't known to be saved must be resent.
    ///
    /// - Parameters:
    ///   - system: The session's system directories.
    ///   - continues: Whether the session may be able to report what has happened since the previous one ended.
    /// - Returns: The names whose changes resume after a cursor and those that begin with their values; and the
    ///   effects.
    mutating func begin(system: SystemDirectories, continues: Bool) -> (start: SessionStart, effects: ClientEffects) {
        for edit in unsaved.beginSession() {
            replicas.change(edit.domain) { $0.mask(edit.values.keys, number: edit.number) }
        }
        unsavedCommits = []
        if !continues { cursor = nil }
        wanted = []
        var start = SessionStart(cursor: cursor)
        var effects = ClientEffects()
        for (name, state) in names {
            if cursor != nil, state.isCurrent {
                start.resumed.append(name)
            } else {
                names[name]?.begin()
                names[name]?.isFollowed = true
                start.followed.append(name)
            }
        }
        if system != self.system {
            self.system = system
            // Skip lists that haven't been searched yet, since they would count as searched before their names are
            // loaded.
            for entry in lists.values where entry.list.hasSearched { effects.add(rebuild(entry)) }
        }
        return (start, effects)
    }

    /// Records that all changes up to a cursor have arrived.
    mutating func reach(_ cursor: Cursor) { self.cursor = cursor }

    /// Records that the values of a name's domains will arrive, but not their changes.
    mutating func markUnfollowed(_ name: DomainName) { names[name]?.isFollowed = false }

    /// Restarts the stream of a failed conditional edit's name, if the values here don't explain the failure.
    ///
    /// This happens in a forked child that inherited a value that its parent never saved.
    ///
    /// - Returns: Whether the name must be requested from the session.
    mutating func mustReload(_ commit: Commit) -> Bool {
        let name = commit.domain.name
        guard names[name]?.isAtRest == true, holds(commit.expected, in: commit.domain) else { return false }
        names[name]?.begin(afterGap: true)
        return true
    }

    /// Applies an event of a name's stream.
    ///
    /// - Returns: Whether the stream must be restarted because some changes are unknown; and the effects.
    mutating func apply(_ event: StreamEvent, of name: DomainName) -> (mustRestart: Bool, effects: ClientEffects) {
        var effects = ClientEffects()
        var mustRestart = false
        // The name has been removed in the meantime.
        if names[name] == nil { return (false, effects) }
        switch event {
        case .record(let record, let cursor):
            self.cursor = cursor
            switch record.event {
            case .change(let changeSet):
                apply(changeSet, of: name, into: &effects)
                // Followers get a gap when all values have arrived, which stands for this change, too.
                if names[name]?.isBeforeGap == true { return (false, effects) }
            case .unknown: mustRestart = true
            case .damaged(let domain, let reason): recordDamage(reason, of: domain, into: &effects)
            case .recovered(let domain): recordDamage(nil, of: domain, into: &effects)
            // If this process has unsaved edits, the session reports the failure.
            case .unsaved: break
            }
            publish(event, into: &effects)
            // Followers get the gap only when the values have arrived, so that they can't read earlier ones after it.
            if mustRestart { names[name]?.begin(afterGap: true) }
        case .initial(let snapshot):
            _ = names[name]?.see(snapshot.domain)
            recordDamage(snapshot.damage, of: snapshot.domain, into: &effects)
            replaceAll(of: snapshot.domain, with: snapshot.values, into: &effects)
        case .gap:
            names[name]?.begin(afterGap: true)
        case .bookmark:
            guard let (seen, hasGap) = names[name]?.finish() else { break }
            for domain in replicas.domains(named: name) where !seen.contains(domain) {
                replaceAll(of: domain, with: [:], into: &effects)
            }
            inherited[name] = nil
            if hasGap { publishGap(of: name, into: &effects) }
            effects.latches += names[name]?.dequeueWaiters() ?? []
            if users[name] == nil { idle.add(name) }
        case .ended:
            mustRestart = true
            names[name]?.begin(afterGap: true)
        }
        return (mustRestart, effects)
    }

    /// Records the damage of a domain's file, which is reported once; `nil` if the file isn't damaged.
    private mutating func recordDamage(_ damage: String?, of domain: Domain, into effects: inout ClientEffects) {
        if let damage, damages[domain] != damage { effects.problems.append(DefaultsError(.damaged, damage)) }
        damages[domain] = damage
    }

    private mutating func apply(_ changeSet: ChangeSet, of name: DomainName, into effects: inout ClientEffects) {
        let domain = changeSet.domain
        if names[name]?.see(domain) == true {
            // The domain had no values when the snapshot began, so these are its first.
            replaceAll(of: domain, with: [:], into: &effects)
        }
        if changeSet.source == .file { damages[domain] = nil }
        let own = changeSet.edit.flatMap { $0.session == session ? $0.number : nil }
        let changed = replicas.change(domain) { replica in
            changeSet.changes.filter { replica.receive($0.key, with: $0.new, own: own) }.map(\.key)
        }
        unsaved.decide(changeSet.changes.lazy.map(\.key), of: domain)
        if let own {
            unsaved.markMade(own)
        } else if unsaved.has(domain) {
            // Otherwise, when pending edits are resent, this process's conditional edit would be mistaken for another
            // writer's.
            if changeSet.edit?.session == commitSession { unsaved.recordOwn(changeSet.changes, of: domain) }
            // These keys must not be resent if the session is lost, since the other writer's change is newer.
            unsaved.overrule(changeSet.changes.map(\.key), of: domain)
        }
        refresh(changed, in: .persistent(domain), into: &effects)
    }

    private mutating func replaceAll(of domain: Domain, with values: DomainValues, into effects: inout ClientEffects) {
        let values = inherited[domain.name]?.complete(values, of: domain) ?? values
        let changed = replicas.change(domain) { $0.replaceAll(with: values) }
        refresh(changed, in: .persistent(domain), into: &effects)
    }

    /// Records that the session has processed an edit.
    mutating func accept(_ number: UInt64) -> ClientEffects {
        var effects = ClientEffects()
        guard let edit = unsaved.accept(number) else { return effects }
        // While a snapshot is under way, the edit's own record may have been discarded with the previous stream.
        let isFollowed = names[edit.domain.name]?.isCurrent == true
        // Keys that now have a different value were changed by another writer, and must not be resent either.
        unsaved.overrule(unmask(edit, isFollowed: isFollowed, into: &effects), of: edit.domain)
        return effects
    }

    /// Unmasks the keys of an edit: keys that the edit turned out not to change get the value that it hid.
    ///
    /// - Returns: The keys that now have a different value.
    private mutating func unmask(_ edit: UnsavedEdit, isFollowed: Bool, into effects: inout ClientEffects) -> [String] {
        let changed = replicas.change(edit.domain) {
            $0.accept(edit.values.keys, number: edit.number, isFollowed: isFollowed)
        }
        refresh(changed, in: .persistent(edit.domain), into: &effects)
        return changed
    }

    /// Records that the session has refused an edit.
    ///
    /// If the values are the reason and there are several, each is sent again alone, so that one doesn't discard the
    /// others, unless they are a transaction's. Otherwise, the edit won't be resent.
    ///
    /// - Returns: Whether the edit is sent again; and the effects.
    mutating func refuse(_ number: UInt64, after error: DefaultsError) -> (isSentAgain: Bool, effects: ClientEffects) {
        var effects = ClientEffects()
        guard let edit = unsaved.accept(number) else {
            record(refusalOf: number, because: error)
            return (false, effects)
        }
        if error.code == .invalidValue, edit.values.count > 1, !edit.isWhole {
            return (true, sendAgain(number, as: edit.divided))
        }
        _ = unmask(edit, isFollowed: true, into: &effects)
        unsaved.drop(number)
        record(refusalOf: edit.first == 0 ? number : edit.first, because: error)
        return (false, effects)
    }

    /// Requeues an edit that the session refused as late, because others have changed the domain since it was made.
    ///
    /// The new request includes the values that the edit replaced, so that it sets only the keys that others haven't
    /// changed.
    mutating func compare(_ number: UInt64) -> ClientEffects {
        guard var edit = unsaved.accept(number) else { return ClientEffects() }
        edit.isLate = true
        return sendAgain(number, as: [edit])
    }

    /// Replaces an edit that the session refused with others, which set the keys that haven't been set since.
    private mutating func sendAgain(_ number: UInt64, as edits: [UnsavedEdit]) -> ClientEffects {
        var effects = ClientEffects()
        unsaved.drop(number)
        for var edit in edits {
            if edit.first == 0 { edit.first = number }
            edit.values = edit.values.filter { replicas[edit.domain]?.isMasked($0.key, by: number) == true }
            if edit.values.isEmpty { continue }
            let again = unsaved.add(edit)
            _ = unsaved.seal()
            replicas.change(edit.domain) { $0.mask(edit.values.keys, number: again) }
            effects.needsSession = true
        }
        return effects
    }

    /// Records that all edits of a domain up to a number are durable.
    mutating func markSaved(_ domain: Domain, upTo number: UInt64) {
        unsaved.removeSaved(of: domain, upTo: number)
        unsavedCommits.remove(domain)
    }

    /// Records that a conditional edit of a domain isn't saved yet; the session retries, and must save it before the
    /// process ends.
    mutating func markUnsaved(_ domain: Domain) { unsavedCommits.insert(domain) }

    /// Opens the latches of callers that wait for values, since these won't arrive.
    mutating func abandonLoads() -> ClientEffects {
        var effects = ClientEffects()
        for name in names.keys {
            effects.latches += names[name]?.dequeueWaiters() ?? []
        }
        return effects
    }
}
