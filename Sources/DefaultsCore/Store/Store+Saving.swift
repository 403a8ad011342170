import Glibc
import Linux
import PropertyList

extension Store {
    /// Saves a domain's edits, and merges what foreign writers have changed in the meantime.
    ///
    /// Waits for the disk. A read-only domain has nothing to save.
    ///
    /// On return, every edit that was made before the call is durable. On an error, the edits stay pending, the error
    /// is recorded for `failures()`, and the file is unchanged, unless it was written but couldn't be made durable.
    ///
    /// - Parameters:
    ///   - domain: The domain to save.
    ///   - policy: The way to deal with a held lock and with open writers.
    /// - Throws: The reason why edits aren't saved. An error that the policy reports for a retry isn't recorded.
    package func save(_ domain: Domain, _ policy: ObstaclePolicy = .wait) throws(DefaultsError) {
        guard domain.user == .current, state.withLock({ $0.plan(for: domain) }) != nil else { return }
        if let failure = try save(domain, applying: nil, policy).failure { throw failure }
    }

    /// Records that a domain's edits can't be saved because an obstacle has lasted too long.
    package func noteSaveFailure(_ domain: Domain, _ failure: DefaultsError) {
        transition { state in ((), state.failed(domain, lifetime.explaining(failure), now: .now())) }
    }

    /// Applies an edit and saves it, without letting another store on the same directory intervene.
    ///
    /// The edit's condition is therefore checked against the values in the file. Waits for the disk. An edit that was
    /// applied but can't be saved yet is in effect and pending, like any other.
    ///
    /// - Returns: The revision of the edit's record, or the log's head if nothing changed; and the error if the edit
    ///   isn't saved.
    /// - Throws: The errors of `submit`, or the reason why the directory can't be locked or read; the edit is then not
    ///   applied.
    package func commit(
        _ request: EditRequest, _ policy: ObstaclePolicy = .wait
    ) throws(DefaultsError) -> (revision: Revision, failure: DefaultsError?) {
        try request.check()
        // Fail without disk access if the known values already contradict the edit's condition.
        if state.withLock({ $0.conditionFails(request) }) { throw .condition(of: request.domain) }
        let (applied, failure) = try save(request.domain, applying: request, policy)
        return (applied ?? cursor.revision, failure)
    }

    /// Saves a domain under the directory's lock, after applying an edit, if given.
    ///
    /// - Returns: The revision of the edit if it was applied, and the error if edits are left unsaved.
    /// - Throws: The reason why the edit wasn't applied.
    private func save(
        _ domain: Domain, applying request: EditRequest?, _ policy: ObstaclePolicy
    ) throws(DefaultsError) -> (applied: Revision?, failure: DefaultsError?) {
        var applied: Revision?
        do throws(DefaultsError) {
            try saving.withLock { savingState throws(DefaultsError) in
                try makeDirectory()
                // Read this before the creation of the lock file changes the directory.
                savingState.directoryChange = directory.lastChange(around: domain, now: .now())
                let lock = try lockDirectory(policy, &savingState)
                let targetLock = try lockTarget(of: domain, policy)
                if lifetime == .transient ? !savingState.hasRecovered : !savingState.hasSearchedLeftovers {
                    savingState.hasSearchedLeftovers = true
                    savingState.hasRecovered = try keepLeftovers(&savingState)
                }
                try fileLocks.withFile(of: domain) { () throws(DefaultsError) in
                    if let request {
                        reloadBeforeSaving(at: domain, savingState)
                        applied = try apply(request)
                    }
                    do throws(DefaultsError) {
                        try save(domain, policy, &savingState)
                    } catch {
                        // The failed save may have left a temporary file.
                        savingState.hasRecovered = false
                        keepForeignEdits(of: domain, &savingState)
                        throw error
                    }
                }
                _ = consume targetLock
                // The next save of a resident store may follow soon. `examineDisplaced` removes the file.
                if lifetime == .resident, lock.unlock() { savingState.lock = consume lock }
            }
        } catch {
            // The error of an edit that wasn't applied says nothing about the pending edits.
            if request != nil, applied == nil { throw error }
            if policy.isReported(error) { return (applied, error) }
            let failure = lifetime.explaining(error)
            transition { state in ((), state.failed(domain, failure, now: .now())) }
            return (applied, failure)
        }
        return (applied, nil)
    }

    /// Locks the directory, with the file of the last save if it was kept.
    private func lockDirectory(
        _ policy: ObstaclePolicy, _ savingState: inout SavingState
    ) throws(DefaultsError) -> DirectoryLock {
        if let kept = savingState.lock.take(), kept.lockAgain() { return kept }
        return try DirectoryLock(directory, timeout: policy == .wait ? 10_000 : 0)
    }

    /// Saves a domain, retrying as often as foreign writers make necessary.
    private func save(
        _ domain: Domain, _ policy: ObstaclePolicy, _ savingState: inout SavingState
    ) throws(DefaultsError) {
        guard let file = file(of: domain) else { return }
        // A round that doesn't finish the save was overtaken by a foreign writer. A program that writes constantly may
        // win all rounds; the edits then stay pending until the next save. Edits made in the meantime are included if
        // there is another round, and are otherwise left to the next save.
        let last = state.withLock { $0.lastSequence }
        for round in 0..<policy.maximumAttempts {
            guard var plan = state.withLock({ $0.plan(for: domain, upTo: last) }) else { return }
            // Check this first, to spare a needless write to the disk.
            if policy == .report, file.isOpenForWriting { throw isOpen(file) }
            if round == 0, let damage = plan.damage, damage.version == nil {
                // The file couldn't be read last time, but the obstacle may be gone.
                reloadBeforeSaving(at: domain, savingState)
                continue
            }
            try backUp(file, of: domain, replacedBy: plan)
            try carryOut(&plan, for: domain, in: file, policy, &savingState)
        }
        throw DefaultsError(
            policy == .wait ? .notSaved : .openForWriting,
            "Another program keeps rewriting \(file.path)"
                + (policy == .wait ? "; \(lifetime.consequence)." : "."))
    }

    /// Carries out a plan; if the file isn't in the expected state, reloads it instead.
    private func carryOut(
        _ plan: inout SavePlan, for domain: Domain, in file: DomainFile, _ policy: ObstaclePolicy,
        _ savingState: inout SavingState
    ) throws(DefaultsError) {
        let (bytes, format) = try encodeWhatFits(&plan, for: domain, in: file)
        plan.base = [:]
        let hash = bytes.map(ContentHash.init)
        state.withLock { $0.willSave(plan, for: domain, hash: hash) }
        writeLog()
        let result: SaveResult
        do throws(DefaultsError) {
            result = try file.save(bytes, expecting: plan.expected, adding: plan.edits, by: lifetime, policy)
        } catch {
            if isFile(of: domain, plan.expected) == true { withdrawSave(of: domain) }
            throw error
        }
        switch result {
        case .fileChanged:
            savingState.hasRecovered = false
            let outcome = reloadBeforeSaving(at: domain, savingState)
            if outcome.unreadable.contains(domain), let problem = directory.problem { throw problem }
            if !outcome.isEmpty { Backoff.pause(.milliseconds(5)) }
        case .openForWriting:
            withdrawSave(of: domain)
            throw isOpen(file)
        case .saved(let version, let displaced):
            let replacesUnread = plan.expected?.seal?.isUnread == true
            transition { state in
                // A barrier that finds nothing pending must wait for the examination.
                if displaced != nil { state.openDisplaced.insert(domain) }
                return (
                    (),
                    state.markSaved(
                        plan, for: domain, as: version, format: format, replacesUnread: replacesUnread, now: .now())
                )
            }
            examine(displaced, of: domain, plan, &savingState)
            if let excess = plan.excess { throw excess }
        case .savedUnsafely(let version, let error, let displaced):
            state.withLock { $0.markSavedUnsafely(domain, as: version) }
            examine(displaced, of: domain, plan, &savingState)
            throw error
        }
    }

    /// Withdraws the announcement of a save that wasn't made, so that the next agent doesn't take it for one that may
    /// have been.
    private func withdrawSave(of domain: Domain) {
        transition { state in
            state.domains[domain]?.intent = nil
            state.recordMarks(of: domain)
            return ((), [])
        }
    }

    /// Locks the directory of a link's target as well, since a process that uses the file's real path locks that
    /// directory.
    ///
    /// - Returns: The lock; `nil` if the file isn't a link, or if the target's directory is already locked or can't be
    ///   used.
    private func lockTarget(of domain: Domain, _ policy: ObstaclePolicy) throws(DefaultsError) -> DirectoryLock? {
        guard let file = file(of: domain), file.isLink, let target = try? DomainFile.resolvingLinks(file.path) else {
            return nil
        }
        let parent = PreferencesDirectory(path: Path.directory(of: target))
        let own = PreferencesDirectory(path: Path.directory(of: file.path))
        if [directory.resolvedPath, own.resolvedPath].contains(parent.resolvedPath) { return nil }
        do throws(DefaultsError) {
            return try DirectoryLock(parent, timeout: policy == .wait ? 10_000 : 0)
        } catch {
            if error.code == .directory { return nil }
            throw error
        }
    }

    /// Returns the error for a file that is open for writing.
    func isOpen(_ file: DomainFile) -> DefaultsError {
        DefaultsError(
            lifetime == .transient ? .notSaved : .openForWriting,
            "Another program has \(file.path) open for writing, so the file was not replaced.",
            remedy: "To find the program, run `lsof \(file.path)`. Close the file there, then try again.")
    }

    /// Reloads a file that may not be in the expected state.
    ///
    /// The outcome isn't confirmed later, since the file is about to be replaced. While the file is being written, its
    /// last known state stays.
    ///
    /// - Returns: The domain, if its file must be read again because it is being written or its directory is
    ///   inaccessible.
    @discardableResult
    private func reloadBeforeSaving(
        at domain: Domain, _ savingState: borrowing SavingState
    ) -> ReloadOutcome {
        let (known, damage) = state.withLock { ($0.domains[domain]?.file, $0.domains[domain]?.damage) }
        var reading = read(domain, known: known, afterEvent: true)
        // Editors briefly move a file away, and some writers complete it in a second step.
        var backoff = Backoff(from: .milliseconds(10), to: .milliseconds(10), timeout: .milliseconds(250))
        while reading.isNewLoss(after: known, damage) {
            if case .missing = reading { noteMissing(domain, missingSince: savingState.directoryChange) }
            guard backoff.wait() else { break }
            reading = read(domain, known: known, afterEvent: true)
        }
        if reading.isLoss, !isReachable(domain) {
            noteUnreachable(of: domain)
            return ReloadOutcome(unreadable: [domain])
        }
        // An unknown domain's file has appeared since the directory was last read, so its values are a change.
        transition { state in ((), state.apply(reading, of: domain, isBaseline: false, now: .now())) }
        return ReloadOutcome(beingWritten: reading.isBeingWritten ? [domain] : [])
    }
}
