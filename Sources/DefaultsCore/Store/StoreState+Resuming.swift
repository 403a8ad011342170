import PropertyList

extension StoreState {
    /// Resumes a domain from the log of an earlier agent, before its file is first merged.
    ///
    /// `reading` is the file's current state, and `oldest` is the revision of the first record of all domains.
    mutating func resume(
        _ domain: Domain, marks: [FileMark], records: [LogRecord], since oldest: Revision, reading: FileReading,
        now: Timestamp
    ) -> [StoreAction] {
        for case .change(let changeSet) in records.map(\.event) { changeSet.edit.map { appliedEdits.note($0) } }
        // The earlier agent knew every domain that had a file, so a domain without marks had none.
        let marks = marks.isEmpty ? [FileMark(domain: domain, hash: nil, revision: 0)] : marks
        // The file holds the last version that is certain, or one of the versions that were about to replace it since.
        let certain = marks.lastIndex { !$0.isIntent } ?? marks.startIndex
        var mark: FileMark?
        var isKnown = true
        switch reading {
        case .contents(let contents):
            mark = marks[certain...].last { $0.hash == contents.version.hash }
            if mark == nil, marks[certain].hash == nil {
                // There was no file, so this one is new, with all that is in it.
                let (pending, _) = unsaved(since: marks[certain], of: domain, in: records)
                domains[domain, default: DomainState()].merge.pending = pending
                let actions = apply(reading, of: domain, isBaseline: false, now: now)
                return actions + restoreTrouble(of: domain, marks[certain], isKnown: true, now: now)
            }
        case .missing:
            mark = marks[certain...].last { $0.hash == nil }
        case .unchanged, .beingWritten, .unusable:
            // The file's contents will be known later. Until then, keep every edit that it may lack.
            mark = marks[certain]
            isKnown = false
        }
        var (pending, overwritten) = unsaved(since: mark ?? marks[certain], of: domain, in: records)
        let logged = LoggedHistory(
            of: records.lazy.filter { $0.revision <= (mark ?? marks[certain]).revision }, in: domain)
        // If the history doesn't reach back to a mark, it says nothing about the mark's version.
        let known = marks.filter { $0.hash != nil && $0.revision + 1 >= oldest }
        replaced[domain] = known.isEmpty ? nil : known
        let versions = logged.totals(of: known)
        if mark == nil, case .contents(let contents) = reading {
            // Only the log's records tell what the file held before.
            let isRestored = marks.contains { $0.hash == contents.version.hash }
            let actions = merge(
                contents, of: domain, pending, replacing: overwritten, logged, marks[certain], isRestored: isRestored,
                now: now)
            domains[domain]?.earlierVersions = versions
            return actions + publish(.unknown(domain), at: now)
                + restoreTrouble(of: domain, marks[certain], isKnown: true, now: now)
        }
        var actions = apply(reading, of: domain, isBaseline: true, now: now)
        if !isKnown, let hash = marks[certain].hash {
            // Once the file can be read, only its differences from what it held are changes.
            let values = logged.values(without: marks[certain].pending, replacing: overwritten)
            domains[domain, default: DomainState()].merge = Merge(base: values.compactMapValues(\.self), logged)
            domains[domain]?.earlierVersions = versions
            domains[domain]?.earlierFile = hash
        }
        if mark == nil || !isKnown { actions += publish(.unknown(domain), at: now) }
        let base = domains[domain]?.merge.base ?? [:]
        if isKnown { pending = pending.filter { $1.value != base[$0] } }
        if case .contents(let contents) = reading, domains[domain] != nil {
            // A foreign writer doesn't know the pending edits, and may still have an older version loaded.
            var history = logged.history
            if contents.saveMark == nil, !pending.isEmpty || history.count > 0 {
                history.append(back: [:], at: contents.time, isForeign: true)
            }
            domains[domain]?.merge.history = history
            domains[domain]?.merge.keyTimes = logged.keyTimes
            domains[domain]?.earlierVersions = versions
        }
        if !pending.isEmpty {
            domains[domain, default: DomainState()].merge.pending = pending
            note(domain)
            // Leave a file that can't be used alone until it is repaired, or the domain is edited again.
            if isKnown { actions.append(.save(domain, .immediate)) }
        }
        if case .missing = reading, domains[domain] == nil, !records.isEmpty {
            // The next agent, too, must know that the domain has no file. Otherwise, values that were once set would
            // seem unsaved.
            domains[domain] = DomainState()
        }
        return actions + restoreTrouble(of: domain, marks[certain], isKnown: isKnown, now: now)
    }

    /// Merges a file that was written while no agent ran with the version before, whose keys are known from the log's
    /// records.
    ///
    /// The version before corresponds to the mark: it had the values of the history, without the mark's pending edits.
    /// `isRestored` is whether the file is, byte by byte, one that was there before.
    private mutating func merge(
        _ contents: FileContents, of domain: Domain, _ pending: [String: Edit], replacing replaced: Difference,
        _ logged: LoggedHistory, _ mark: FileMark, isRestored: Bool, now: Timestamp
    ) -> [StoreAction] {
        let known = logged.values(without: mark.pending, replacing: replaced)
        var state = DomainState()
        state.merge = Merge(base: contents.values, logged)
        for (key, value) in known { state.merge.base[key] = value }
        // If it isn't known what an edit was meant to replace, times alone decide.
        state.merge.pending = pending.filter { known[$0] != nil || $1.time >= contents.time }
        domains[domain] = state
        var actions = change(domain, source: .file, at: now) { state in
            (state.file, state.format) = (contents.version, contents.format)
            return state.merge.reload(
                contents.values, format: contents.format, changedAt: contents.time,
                writtenAt: contents.version.identity.modified, placedAt: contents.version.identity.changed,
                isWhole: contents.saveMark != nil, mayBeRestore: isRestored)
        }
        actions += reportRecovery(of: domain, at: now)
        return actions
    }

    /// Restores a problem that an earlier agent reported, and reports its recovery unless the problem lasts.
    ///
    /// It lasts while the file can't be used, or edits aren't saved.
    private mutating func restoreTrouble(
        of domain: Domain, _ mark: FileMark, isKnown: Bool, now: Timestamp
    ) -> [StoreAction] {
        guard mark.isTroubled else { return [] }
        domains[domain, default: DomainState()].isTroubled = true
        let isSaved = domains[domain]?.merge.pending.isEmpty ?? true
        return isKnown && isSaved ? reportRecovery(of: domain, at: now) : []
    }

    /// Returns the edits that a file with a certain mark lacks, and for those made after the mark, the values that they
    /// replaced.
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
    /// Creates a merge with the history of earlier versions in the log.
    fileprivate init(base: DomainValues, _ logged: LoggedHistory) {
        self.init(base: base, history: logged.history, baseTime: logged.time)
        keyTimes = logged.keyTimes
    }
}
