import Glibc
import Linux

/// The part of a store that replaces domains' files, and deals with what it has displaced or a crash has left.
///
/// Nothing else changes a domain's file, except `DomainFile.replaceDamage` at a user's request. A saver belongs to its
/// store, which lets only one thread at a time use it (see `Store.saving`). It plans and merges in the store's state,
/// whose lock it never holds during I/O.
struct Saver: ~Copyable {
    /// The store whose domains are saved; it owns the saver.
    unowned let store: Store
    /// The lock of the last save, unlocked; `nil` if its file isn't kept.
    var keptLock: DirectoryLock?
    /// The time at which the directory of the domain being saved last changed before it was locked.
    private var directoryChange = Timestamp(nanoseconds: 0)
    /// Displaced files that a late writer may still write to, with their last examined versions.
    var displaced: [Displaced] = []
    /// The index of the next displaced file to release early, if there are too many.
    var nextReleased = 0
    /// The state of the temporary files that a crash, or an incomplete save, has left in the directory.
    var leftovers = Leftovers.unknown
    /// The leftovers that are merged but stay until their changes are saved: their hashes, by path.
    var mergedLeftovers: [String: ContentHash] = [:]

    /// The state of leftovers in a directory.
    enum Leftovers {
        /// They haven't been searched for.
        case unknown
        /// Some may remain.
        case some
        /// None remains.
        case none
    }

    init(of store: Store) { self.store = store }

    /// Saves a domain under the directory's lock, after applying an edit, if given.
    ///
    /// - Returns: The cursor of the edit if it was applied, and the error if edits are left unsaved.
    /// - Throws: The reason why the edit wasn't applied.
    mutating func save(
        _ domain: Domain, applying request: EditRequest?, onObstacle policy: ObstaclePolicy
    ) throws(DefaultsError) -> (applied: Cursor?, failure: DefaultsError?) {
        var applied: Cursor?
        do throws(DefaultsError) {
            try store.makeDirectory()
            // Read this before the creation of the lock file changes the directory.
            directoryChange = store.directory.lastChange(around: domain, now: .now())
            let timeout = policy == .wait ? 10_000 : 0
            let lock = try lockDirectory(timeout: timeout)
            // This locks directories that links lead to.
            if leftovers == .unknown || leftovers == .some && store.lifetime == .transient { try handleLeftovers() }
            let targetLock = try store.file(of: domain)?.lockTarget(beside: store.directory, timeout: timeout)
            try store.fileLocks.withFile(of: domain) { () throws(DefaultsError) in
                if let request {
                    reload(domain)
                    applied = try store.apply(request)
                }
                do throws(DefaultsError) {
                    try save(domain, onObstacle: policy)
                } catch {
                    // The failed save may have left a temporary file.
                    leftovers = .some
                    backUpForeignEdits(of: domain)
                    throw error
                }
            }
            _ = consume targetLock
            // The next save of a resident store may follow soon. `examineDisplaced` removes the file.
            if store.lifetime == .resident, lock.unlock() { keptLock = consume lock }
        } catch {
            // The error of an edit that wasn't applied says nothing about the pending edits.
            if request != nil, applied == nil { throw error }
            if policy.isReported(error) { return (applied, error) }
            let failure = store.lifetime.explaining(error)
            store.transition { state in ((), state.failed(domain, because: failure, now: .now())) }
            return (applied, failure)
        }
        return (applied, nil)
    }

    /// Locks the directory, with the file of the last save if it was kept.
    private mutating func lockDirectory(timeout: Int) throws(DefaultsError) -> DirectoryLock {
        if let kept = keptLock.take(), kept.lockAgain() { return kept }
        return try DirectoryLock(store.directory, timeout: timeout)
    }

    /// Saves a domain, retrying as often as foreign writers make necessary.
    private mutating func save(_ domain: Domain, onObstacle policy: ObstaclePolicy) throws(DefaultsError) {
        guard let file = store.file(of: domain) else { return }
        // A round that doesn't finish the save was overtaken by a foreign writer. A program that writes constantly may
        // win all rounds; the edits then stay pending until the next save. Edits made in the meantime are included if
        // there is another round, and are otherwise left to the next save.
        let last = store.state.withLock { $0.lastSequence }
        for round in 0..<policy.maximumAttempts {
            guard var plan = store.state.withLock({ $0.plan(for: domain, upTo: last) }) else { return }
            // Check this first, to spare a needless write to the disk.
            if policy == .report, file.isOpenForWriting { throw isOpen(file) }
            if round == 0, let damage = plan.damage, damage.version == nil {
                // The file couldn't be read last time, but the obstacle may be gone.
                reload(domain)
                continue
            }
            try backUp(file, of: domain, replacedBy: plan)
            try carryOut(&plan, for: domain, in: file, onObstacle: policy)
        }
        throw DefaultsError(
            policy == .wait ? .notSaved : .openForWriting,
            "Another program keeps rewriting \(file.path)." + (policy == .wait ? " \(store.lifetime.consequence)" : ""))
    }

    /// Carries out a plan; if the file isn't in the expected state, reloads it instead.
    private mutating func carryOut(
        _ plan: inout SavePlan, for domain: Domain, in file: DomainFile, onObstacle policy: ObstaclePolicy
    ) throws(DefaultsError) {
        let (bytes, format) = try encodeWhatFits(&plan, for: domain, in: file)
        plan.base = [:]
        let hash = bytes.map(ContentHash.init)
        let isInPlace = file.isTied
        store.state.withLock { $0.willSave(plan, for: domain, hash: hash, isInPlace: isInPlace) }
        store.writeLog()
        let result: SaveResult
        do throws(DefaultsError) {
            result = try file.save(
                bytes, expecting: plan.expected, adding: plan.edits,
                // A version that lacks edits stands for no session's edits.
                after: plan.excess == nil ? plan.sessions : plan.sessions.map { _ in [] },
                by: store.lifetime, onObstacle: policy)
        } catch {
            if store.isFile(of: domain, plan.expected) == true { withdrawSave(of: domain) }
            throw error
        }
        switch result {
        case .fileChanged:
            leftovers = .some
            let outcome = reload(domain)
            if outcome.unreadable.contains(domain), let problem = store.directory.problem { throw problem }
            if !outcome.isEmpty { Backoff.pause(.milliseconds(5)) }
        case .openForWriting:
            withdrawSave(of: domain)
            throw isOpen(file)
        case .saved(let version, let displaced):
            let replacesUnread = plan.expected?.isUnread == true
            store.transition { state in
                // A barrier that finds nothing pending must wait for the examination.
                if displaced != nil { state.openDisplaced.insert(domain) }
                return (
                    (),
                    state.markSaved(
                        plan, for: domain, as: version, format: format, replacesUnread: replacesUnread, now: .now())
                )
            }
            examine(displaced, of: domain, after: plan)
            if let excess = plan.excess { throw excess }
        case .savedUnsafely(let version, let error, let displaced):
            store.state.withLock { $0.markSavedUnsafely(domain, as: version) }
            examine(displaced, of: domain, after: plan)
            throw error
        }
    }

    /// Withdraws the announcement of a save that wasn't made, so that the next agent doesn't take it for one that may
    /// have been.
    private func withdrawSave(of domain: Domain) {
        store.transition { state in
            state.domains[domain]?.intent = nil
            state.recordMarks(of: domain)
            return ((), [])
        }
    }

    /// Returns the error for a file that is open for writing.
    func isOpen(_ file: DomainFile) -> DefaultsError {
        DefaultsError(
            store.lifetime == .transient ? .notSaved : .openForWriting,
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
    private func reload(_ domain: Domain) -> Store.ReloadOutcome {
        let (known, damage) = store.state.withLock { ($0.domains[domain]?.file, $0.domains[domain]?.damage) }
        var reading = store.read(domain, known: known, afterEvent: true)
        // Editors briefly move a file away, and some writers complete it in a second step.
        var backoff = Backoff(from: .milliseconds(10), to: .milliseconds(10), timeout: .milliseconds(250))
        while reading.isNewLoss(after: known, damage) {
            if case .missing = reading { store.markMissing(domain, since: directoryChange) }
            guard backoff.wait() else { break }
            reading = store.read(domain, known: known, afterEvent: true)
        }
        if reading.isLoss, !store.isReachable(domain) {
            store.markUnreachable(of: domain)
            return Store.ReloadOutcome(unreadable: [domain])
        }
        // An unknown domain's file has appeared since the directory was last read, so its values are a change.
        store.transition { state in ((), state.apply(reading, of: domain, isBaseline: false, now: .now())) }
        return Store.ReloadOutcome(beingWritten: reading.isBeingWritten ? [domain] : [])
    }
}
