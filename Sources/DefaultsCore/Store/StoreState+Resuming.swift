extension StoreState {
    /// Resumes a domain from the log of an earlier agent, before its file is first merged.
    ///
    /// - Parameters:
    ///   - domain: The domain to resume.
    ///   - marks: The domain's marks in the log.
    ///   - records: The domain's records in the log.
    ///   - oldest: The revision of the first record in the log, of any domain.
    ///   - reading: The file's current state.
    ///   - isSaveMade: Whether the last announced save was made; `nil` if that isn't known.
    ///   - removed: The latest time at which a missing file can have been removed.
    ///   - isOutdated: Whether the log continued without the file from which it was recovered.
    ///   - now: The current time.
    /// - Returns: The actions to perform.
    mutating func resume(
        _ domain: Domain, marks: [FileMark], records: [LogRecord], since oldest: Revision, reading: FileReading,
        isSaveMade: Bool? = nil, removedBefore removed: Timestamp, isOutdated: Bool = false, now: Timestamp
    ) -> [StoreAction] {
        let resumed = ResumedDomain(
            of: domain, marks: marks, records: records, since: oldest, reading: reading, isSaveMade: isSaveMade,
            removedBefore: removed, lastSequence: lastSequence, isOutdated: isOutdated, now: now)
        for edit in resumed.appliedEdits { appliedEdits.insert(edit) }
        markReported(resumed.reported, of: domain)
        lastSequence = resumed.lastSequence
        // In the history, this comes before what was changed while no agent ran.
        let reversal = resumed.reversalOfLostChanges.map { publish(.unknown(domain, rest: $0), at: now) } ?? []
        var actions: [StoreAction]
        if case .new = resumed.finding {
            domains[domain, default: DomainState()].merge.pending = resumed.unsaved
            actions = apply(reading, of: domain, isBaseline: false, now: now)
        } else {
            replaced[domain] = resumed.replaced.isEmpty ? nil : resumed.replaced.map(\.ofReplacedVersion)
            switch resumed.finding {
            case .rewritten(let contents): actions = merge(contents, of: resumed, now: now)
            case .removed: actions = mergeLoss(resumed, now: now)
            case .logged, .new, .unreadable: actions = applyFirstReading(resumed, now: now)
            }
        }
        domains[domain]?.merge.limitTimes(to: now)
        if domains[domain]?.merge.versions.isNew == false { domains[domain]?.complete = resumed.complete }
        if !resumed.lostChangeSets.isEmpty {
            domains[domain, default: DomainState()].lostChangeSets = resumed.lostChangeSets
            recordMarks(of: domain)
        }
        return reversal + actions + restoreTrouble(resumed, now: now)
    }

    /// Merges a file that was written while no agent was running with the last version in the log.
    private mutating func merge(_ contents: FileContents, of resumed: ResumedDomain, now: Timestamp) -> [StoreAction] {
        let domain = resumed.domain
        domains[domain] = resumed.state(before: contents)
        let actions = change(domain, source: .file, at: now, madeAt: contents.time) { state in
            state.setFile(contents.version)
            state.format = contents.format
            let result = state.merge.reload(contents, mayBeRestore: resumed.isRestored(contents), now: now)
            state.merge.versions.appendUnseen(writtenAt: contents.time)
            return result
        }
        return actions + publish(.unknown(domain), at: now)
    }

    /// Merges the removal of a file while no agent was running.
    private mutating func mergeLoss(_ resumed: ResumedDomain, now: Timestamp) -> [StoreAction] {
        let domain = resumed.domain
        domains[domain] = resumed.stateBeforeLoss()
        let time = resumed.earliestLoss
        let actions = change(domain, source: .file, at: now, madeAt: time) { $0.merge.removeFile(at: time) }
        return actions + publish(.unknown(domain), at: now)
    }

    /// Applies the first reading of a file that holds a logged version, or can't be read.
    private mutating func applyFirstReading(_ resumed: ResumedDomain, now: Timestamp) -> [StoreAction] {
        let domain = resumed.domain
        var actions = apply(resumed.reading, of: domain, isBaseline: true, now: now)
        let hasUnsavedEdits = resumed.complete(&domains[domain])
        if !resumed.isExplained { actions += publish(.unknown(domain), at: now) }
        if hasUnsavedEdits {
            recordMarks(of: domain)
            // Leave a file that can't be used alone until it is repaired, or the domain is edited again.
            if resumed.isReadable { actions.append(.save(domain, .immediate)) }
        }
        return actions
    }

    /// Restores a problem that an earlier agent reported, and reports its end if it is over.
    ///
    /// The problem lasts as long as the file can't be used or edits are unsaved.
    private mutating func restoreTrouble(_ resumed: ResumedDomain, now: Timestamp) -> [StoreAction] {
        guard resumed.certain.isTroubled else { return [] }
        domains[resumed.domain, default: DomainState()].isTroubled = true
        let isSaved = domains[resumed.domain]?.merge.pending.isEmpty ?? true
        return resumed.isReadable && isSaved ? reportResolution(of: resumed.domain, at: now) : []
    }
}
