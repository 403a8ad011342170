import PropertyList

extension StoreState {
    /// Applies the outcome of reading a domain's file.
    ///
    /// If `isBaseline` is true, the domain is seen for the first time, and its values aren't a change.
    mutating func apply(
        _ reading: FileReading, of domain: Domain, isBaseline: Bool, now: Timestamp
    ) -> [StoreAction] {
        applyReading(reading, of: domain, isBaseline: isBaseline, now: now) + reportResolution(of: domain, at: now)
    }

    private mutating func applyReading(
        _ reading: FileReading, of domain: Domain, isBaseline: Bool, now: Timestamp
    ) -> [StoreAction] {
        if case .missing = reading {} else if domains[domain]?.missingSince != nil { setMissing(domain, since: nil) }
        switch reading {
        case .beingWritten: return []
        case .unchanged(let version): return applyUnchanged(version, of: domain)
        case .missing: return applyLoss(of: domain, now: now)
        case .unusable(let damage): return applyDamage(damage, of: domain, now: now)
        case .contents(let contents):
            if contents.hasEquivalentKeys {
                domains[domain, default: DomainState()].equivalentKeys = contents.version.hash
            }
            guard isBaseline, domains[domain]?.merge.pending.isEmpty ?? true else {
                return applyContents(contents, of: domain, now: now)
            }
            setBaseline(contents, of: domain)
            return []
        }
    }

    private mutating func applyUnchanged(_ version: FileVersion, of domain: Domain) -> [StoreAction] {
        let isMended = domains[domain]?.damage != nil && domains[domain]?.merge.pending.isEmpty == false
        let hasFailed = domains[domain]?.intent != nil
        domains[domain]?.setFile(version)
        // The next agent must not take another file with these bytes for a change made after the announced save.
        if hasFailed { recordMarks(of: domain) }
        // The obstacle to saving is gone.
        return isMended ? [.save(domain, .immediate)] : []
    }

    private mutating func applyLoss(of domain: Domain, now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], state.hash != nil || state.damage != nil else { return [] }
        // The file disappeared before its loss was confirmed; edits made in between are newer than the loss.
        let time = state.missingSince ?? now
        domains[domain]?.missingSince = nil
        return changeFile(of: domain, to: nil, at: now, madeAt: time) { $0.removeFile(at: time) }
    }

    private mutating func applyContents(
        _ contents: FileContents, of domain: Domain, now: Timestamp
    ) -> [StoreAction] {
        let isUnseen = if case .unseen? = domains[domain]?.fileState { true } else { false }
        return changeFile(
            of: domain, to: contents.version, format: contents.format, at: now, madeAt: contents.time
        ) {
            // A read-only file is used as it is, since an overwritten value could never be restored to it.
            if domain.user != .current { $0.versions = FileVersions() }
            if isUnseen {
                // If the log doesn't mention a key, only the edit is known to be a change to it.
                let values = contents.values
                for key in $0.pending.keys where $0.base[key] == nil { $0.base[key] = values[key] }
            }
            return $0.reload(contents, now: now)
        }
    }

    /// Sets a domain's starting values from its file; they aren't a change.
    private mutating func setBaseline(_ contents: FileContents, of domain: Domain) {
        var state = DomainState()
        state.equivalentKeys = domains[domain]?.equivalentKeys
        state.lostChangeSets = domains[domain]?.lostChangeSets ?? []
        state.merge = Merge(base: contents.stored, baseTime: contents.time)
        state.merge.versions.newestHash = contents.version.hash
        state.setFile(contents.version)
        state.format = contents.format
        domains[domain] = state
        recordMarks(of: domain)
    }

    /// Adds a domain that nothing is known about but its file's contents; fails if there is more to know.
    mutating func addAtRest(_ domain: Domain, with contents: FileContents) -> Bool {
        guard domains[domain] == nil, let domainAtRest = DomainAtRest(contents) else { return false }
        domains.add(domainAtRest, as: domain)
        recordMarks(of: domain)
        return true
    }

    private mutating func applyDamage(_ damage: FileDamage, of domain: Domain, now: Timestamp) -> [StoreAction] {
        let known = domains[domain]?.damage
        // The last good values stay in effect, unless the file is untrusted.
        var actions: [StoreAction] = []
        if damage.error.code == .untrusted, domains[domain]?.file != nil {
            actions = changeFile(of: domain, to: nil, at: now, madeAt: now) { $0.removeFile(at: now) }
        }
        domains[domain, default: DomainState()].setDamage(damage)
        domains[domain]?.isTroubled = true
        if damage.isText, domains[domain]?.format == .binary { domains[domain]?.format = .xml }
        // These bytes have already been reported, even if the file's times or mode have changed.
        if let known, known.error == damage.error, known.version?.hash == damage.version?.hash { return actions }
        recordMarks(of: domain)
        return actions + publish(.damaged(domain, reason: damage.error.description), at: now)
    }

    private mutating func changeFile(
        of domain: Domain, to version: FileVersion?, format: PropertyListFormat? = nil, at now: Timestamp,
        madeAt time: Timestamp, by merging: (inout Merge) -> Merge.Result
    ) -> [StoreAction] {
        let actions = change(domain, source: .file, at: now, madeAt: time) { state in
            state.setFile(version)
            if let format { state.format = format }
            defer { if state.merge.pending.isEmpty { state.failure = nil } }
            return merging(&state.merge)
        }
        if domains[domain]?.merge.pending.isEmpty == true { domains[domain]?.complete = log.head }
        return actions
    }

    /// Records that a domain's file is missing, perhaps only briefly; only the first call sets the time.
    mutating func markMissing(_ domain: Domain, since time: Timestamp) {
        guard domains[domain] != nil, domains[domain]?.missingSince == nil else { return }
        setMissing(domain, since: time)
    }

    /// Sets the time at which a domain's file went missing, which the marks of unsaved edits mention.
    private mutating func setMissing(_ domain: Domain, since time: Timestamp?) {
        domains[domain]?.missingSince = time
        if domains[domain]?.merge.pending.isEmpty == false { recordMarks(of: domain) }
    }

    /// Records that a domain's file is inaccessible because its directory is.
    ///
    /// If the file turns out to be gone, unsaved edits stand, since they may have been made after the loss.
    mutating func markUnreachable(of domain: Domain, now: Timestamp) {
        guard let pending = domains[domain]?.merge.pending.values else { return }
        markMissing(domain, since: pending.map(\.time).reduce(now, min))
    }

    /// Merges the contents of a displaced version of a domain's file.
    ///
    /// `total` is `versions.total` before the save that displaced it.
    mutating func applyDisplaced(
        _ contents: FileContents, of domain: Domain, loadedBefore total: Int, now: Timestamp
    ) -> [StoreAction] {
        change(domain, source: .file, at: now, madeAt: contents.time) {
            $0.merge.displace(
                contents.values, format: contents.format, changedAt: contents.time, by: contents.evidence,
                loadedBefore: total, hashed: contents.version.hash)
        }
    }

    /// Applies the values of an interrupted write in place, which are the last good values of a file that can't be
    /// used.
    mutating func applyUnsavedVersion(_ contents: FileContents, of domain: Domain, now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], state.damage != nil, state.file == nil else { return [] }
        return change(domain, source: .file, at: now, madeAt: contents.time) {
            $0.format = contents.format
            return $0.merge.reload(
                contents.values, format: contents.format, changedAt: contents.time, by: contents.evidence,
                isWhole: true)
        }
    }
}

extension Merge {
    /// Merges the file's current contents.
    ///
    /// - Parameters:
    ///   - contents: The file's contents.
    ///   - mayBeRestore: Whether a file that equals an older version counts as restored on purpose.
    ///   - now: The current time.
    /// - Returns: The changes in the values in effect, and the values that lost.
    mutating func reload(_ contents: FileContents, mayBeRestore: Bool = true, now: Timestamp) -> Result {
        var contents = contents
        contents.removeTimes(ifPutBackAmong: versions)
        return reload(
            contents.values, format: contents.format, changedAt: contents.time, keysAt: contents.saveMark?.times,
            after: contents.saveMark?.sessions ?? [], by: contents.evidence, isWhole: contents.saveMark != nil,
            mayBeRestore: mayBeRestore,
            hashed: contents.version.hash, now: now)
    }
}
