import PropertyList

extension StoreState {
    /// Takes up what an earlier agent left, for one domain, before its file is first looked at.
    ///
    /// The reading says what the file holds now; the oldest revision is that of the first record of all domains.
    mutating func resume(
        _ domain: Domain, marks: [FileMark], records: [LogRecord], since oldest: Revision, reading: FileReading,
        now: Timestamp
    ) -> [StoreAction] {
        for case .change(let changeSet) in records.map(\.event) { changeSet.edit.map { ledger.note($0) } }
        // The earlier agent knew every domain that had a file: one without marks had none.
        let marks = marks.isEmpty ? [FileMark(domain: domain, hash: nil, revision: 0)] : marks
        // The file holds what it last held for certain, or one of the versions that were to replace it since.
        let certain = marks.lastIndex { !$0.isIntent } ?? marks.startIndex
        var mark: FileMark?
        var isKnown = true
        switch reading {
        case .contents(let contents):
            mark = marks[certain...].last { $0.hash == contents.version.hash }
            if mark == nil, marks[certain].hash == nil {
                // There was no file: this one came since, and all that is in it.
                let (pending, _) = unsaved(since: marks[certain], of: domain, in: records)
                domains[domain, default: DomainState()].merge.pending = pending
                let actions = take(reading, of: domain, isBaseline: false, now: now)
                return actions + takeUpTrouble(of: domain, marks[certain], isKnown: true, now: now)
            }
        case .missing:
            mark = marks[certain...].last { $0.hash == nil }
        case .unchanged, .beingWritten, .unusable:
            // What it holds will show later. Until then no edit that it may lack is let go.
            mark = marks[certain]
            isKnown = false
        }
        var (pending, overwritten) = unsaved(since: mark ?? marks[certain], of: domain, in: records)
        let logged = LoggedHistory(
            of: records.lazy.filter { $0.revision <= (mark ?? marks[certain]).revision }, in: domain)
        // A history that doesn't reach back to a mark says nothing of it.
        let known = marks.filter { $0.hash != nil && $0.revision + 1 >= oldest }
        replaced[domain] = known.isEmpty ? nil : known
        let versions = logged.totals(of: known)
        if mark == nil, case .contents(let contents) = reading {
            // Of what the file held before, no more is known than the log's records tell.
            let isRestored = marks.contains { $0.hash == contents.version.hash }
            let actions = merge(
                contents, of: domain, pending, replacing: overwritten, logged, marks[certain], isRestored: isRestored,
                now: now)
            domains[domain]?.earlierVersions = versions
            return actions + post(.unknown(domain), at: now)
                + takeUpTrouble(of: domain, marks[certain], isKnown: true, now: now)
        }
        var actions = take(reading, of: domain, isBaseline: true, now: now)
        if !isKnown, let hash = marks[certain].hash {
            // Once it can be read, only what differs from what it held is a change.
            let values = logged.values(without: marks[certain].pending, replacing: overwritten)
            domains[domain, default: DomainState()].merge = Merge(base: values.compactMapValues(\.self), logged)
            domains[domain]?.earlierVersions = versions
            domains[domain]?.earlierFile = hash
        }
        if mark == nil || !isKnown { actions += post(.unknown(domain), at: now) }
        let base = domains[domain]?.merge.base ?? [:]
        if isKnown { pending = pending.filter { $1.value != base[$0] } }
        if case .contents(let contents) = reading, domains[domain] != nil {
            // A foreign writer knows nothing of edits that are pending, and may still have an older version in hand.
            var history = logged.history
            if contents.publication == nil, !pending.isEmpty || history.count > 0 {
                history.append(back: [:], at: contents.time, isForeign: true)
            }
            domains[domain]?.merge.history = history
            domains[domain]?.merge.keyTimes = logged.keyTimes
            domains[domain]?.earlierVersions = versions
        }
        if !pending.isEmpty {
            domains[domain, default: DomainState()].merge.pending = pending
            note(domain)
            // A file that can't be taken is left alone until it is mended, or edited again.
            if isKnown { actions.append(.publish(domain, .atOnce)) }
        }
        if case .missing = reading, domains[domain] == nil, !records.isEmpty {
            // The next agent, too, is to know that it has no file: else what was once set would seem to be unsaved.
            domains[domain] = DomainState()
        }
        return actions + takeUpTrouble(of: domain, marks[certain], isKnown: isKnown, now: now)
    }

    /// Merges a file that was written while no agent ran with what the log's records tell of the version before: the keys
    /// that they name.
    ///
    /// The mark says how the version before stands to the log; it didn't hold the pending edits, and before them the history.
    /// A restored file is, byte by byte, one that was there before.
    private mutating func merge(
        _ contents: FileContents, of domain: Domain, _ pending: [String: Edit], replacing replaced: Difference,
        _ logged: LoggedHistory, _ mark: FileMark, isRestored: Bool, now: Timestamp
    ) -> [StoreAction] {
        let known = logged.values(without: mark.pending, replacing: replaced)
        var state = DomainState()
        state.merge = Merge(base: contents.values, logged)
        for (key, value) in known { state.merge.base[key] = value }
        // Where it isn't known what an edit was to replace, times alone decide.
        state.merge.pending = pending.filter { known[$0] != nil || $1.time >= contents.time }
        domains[domain] = state
        var actions = change(domain, source: .file, at: now) { state in
            (state.file, state.format) = (contents.version, contents.format)
            return state.merge.reload(
                contents.values, format: contents.format, changedAt: contents.time,
                writtenAt: contents.version.identity.modified, placedAt: contents.version.identity.changed,
                isWhole: contents.publication != nil, mayBeRestore: isRestored)
        }
        actions += tellRecovery(of: domain, at: now)
        return actions
    }

    /// Notes that an earlier agent told of something wrong; it is over unless the file can't be taken yet, or isn't as it is
    /// to be.
    private mutating func takeUpTrouble(
        of domain: Domain, _ mark: FileMark, isKnown: Bool, now: Timestamp
    ) -> [StoreAction] {
        guard mark.isTroubled else { return [] }
        domains[domain, default: DomainState()].isTroubled = true
        let isSaved = domains[domain]?.merge.pending.isEmpty ?? true
        return isKnown && isSaved ? tellRecovery(of: domain, at: now) : []
    }

    /// The edits that a file doesn't hold which stands to the log as a mark says; and for those made after it, what they
    /// were to replace.
    private mutating func unsaved(
        since mark: FileMark, of domain: Domain, in records: [LogRecord]
    ) -> (pending: [String: Edit], replaced: Difference) {
        var pending = mark.pending
        var replaced = Difference()
        lastSequence = pending.values.reduce(lastSequence) { max($0, $1.sequence) }
        for record in records where record.revision > mark.revision {
            guard case .change(let changeSet) = record.event, changeSet.domain == domain else { continue }
            for change in changeSet.changes {
                guard case .app = changeSet.source else {
                    pending[change.key] = nil
                    replaced[change.key] = nil
                    continue
                }
                lastSequence += 1
                if pending[change.key] == nil { replaced[change.key] = .some(change.old) }
                pending[change.key] = Edit(
                    value: change.new, time: record.time, writer: changeSet.source, sequence: lastSequence)
            }
        }
        return (pending, replaced)
    }
}

extension Merge {
    /// Makes a merge with the history of earlier versions that the log holds.
    fileprivate init(base: DomainValues, _ logged: LoggedHistory) {
        self.init(base: base, history: logged.history, baseTime: logged.time)
        keyTimes = logged.keyTimes
    }
}
