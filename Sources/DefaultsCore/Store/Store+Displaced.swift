import Glibc
import Linux

/// The handling of displaced files, to which a writer may still be writing.
extension Store {
    /// Examines a file that was just displaced.
    ///
    /// If a foreign writer wrote it, its changes become pending.
    func examine(
        _ file: DisplacedFile?, of domain: Domain, _ plan: SavePlan, _ savingState: inout SavingState
    ) {
        guard let file else {
            // The displaced file couldn't be opened. It is now a leftover, as after a crash.
            if plan.expected != nil { savingState.hasRecovered = false }
            return
        }
        var displaced = Displaced(
            file: file, domain: domain, expected: plan.expected, known: plan.expected, total: plan.total)
        var backoff = Backoff(from: .milliseconds(1), to: .milliseconds(50), timeout: .milliseconds(200))
        repeat {
            let reading = displaced.file.examine(known: displaced.known)
            displaced.isOpen = reading.isBeingWritten
            if displaced.isOpen { continue }
            displaced.note(reading, merge(reading, displaced))
            break
        } while backoff.wait()
        savingState.displaced.append(displaced)
        updateOpenDisplaced(savingState)
        // Each displaced file holds a descriptor open. Release a few at a time, since removing all of them would delay
        // this save by tens of milliseconds.
        if savingState.displaced.count > SavingState.capacity {
            let first = savingState.nextReleased % savingState.displaced.count
            let last = min(first + Self.releasedPerSave, savingState.displaced.count)
            let count = savingState.displaced.count
            examineDisplaced(first..<last, olderThan: .zero, &savingState)
            // Files that can't be released now are passed over, so that they don't keep others from it.
            savingState.nextReleased = savingState.displaced.count < count ? first : last
        }
    }

    /// Returns whether a displaced file was open for writing when it was last examined, or may have been left by an
    /// earlier agent, and so may need a merge.
    package func hasOpenDisplaced(among domains: Set<Domain>?) -> Bool {
        let (open, hasLeftovers) = state.withLock { ($0.openDisplaced, $0.hasLeftovers) }
        return hasLeftovers || (domains.map { !$0.isDisjoint(with: open) } ?? !open.isEmpty)
    }

    /// Examines displaced files again, and releases those that have no writer left and whose changes are saved.
    ///
    /// A resident store also removes the lock file that it has kept, and handles leftovers of a crash. A file that
    /// isn't released keeps its hidden name, so that the next store finds it if this one ends.
    ///
    /// Reads from the disk.
    ///
    /// - Parameter age: The minimum time since a file's displacement before it is released.
    /// - Returns: Whether files remain that must be examined again.
    package func examineDisplaced(olderThan age: Duration = .zero) -> Bool {
        saving.withLock { savingState in
            savingState.lock = nil
            examineDisplaced(savingState.displaced.indices, olderThan: age, &savingState)
            if lifetime == .resident, !savingState.hasRecovered, let lock = try? DirectoryLock(directory, timeout: 0) {
                savingState.hasSearchedLeftovers = true
                savingState.hasRecovered = (try? keepLeftovers(&savingState)) ?? false
                _ = consume lock
            }
            let open = Dictionary(grouping: savingState.displaced, by: \.domain).mapValues {
                Set($0.compactMap(\.expected?.hash))
            }
            state.withLock {
                $0.hasLeftovers = !savingState.hasRecovered
                $0.forgetReplaced(but: open, hasLeftovers: $0.hasLeftovers)
            }
            return !savingState.displaced.isEmpty || lifetime == .resident && !savingState.hasRecovered
        }
    }

    /// Releases displaced files for about a millisecond, so that saves by other threads needn't wait for all of them.
    ///
    /// Reads from the disk.
    ///
    /// - Parameter age: The minimum time since a file's displacement before it is released.
    /// - Returns: Whether more files are old enough, and calling this again may release them.
    package func releaseSomeDisplaced(olderThan age: Duration) -> Bool {
        let start = ContinuousClock.now
        // The files are in the order in which they were displaced.
        return saving.withLock { savingState in
            let before = savingState.displaced.count
            var kept = 0
            while kept < savingState.displaced.count, start - savingState.displaced[kept].since >= age {
                let count = savingState.displaced.count
                // Files that can't be released must not keep the caller busy.
                if count < before, ContinuousClock.now - start > .milliseconds(1) { return true }
                examineDisplaced(kept..<kept + 1, olderThan: age, &savingState)
                if savingState.displaced.count == count { kept += 1 }
            }
            return false
        }
    }

    /// The number of displaced files that a save examines if too many are open; more than it adds.
    private static let releasedPerSave = 2

    private func examineDisplaced(_ range: Range<Int>, olderThan age: Duration, _ savingState: inout SavingState) {
        let now = ContinuousClock.now
        var hasRemovedAll = true
        for index in range {
            let displaced = savingState.displaced[index]
            let isOld = now - displaced.since >= age
            // What a program has closed is merged at any age.
            guard isOld || displaced.isOpen else { continue }
            let reading = displaced.file.examine(known: displaced.known)
            savingState.displaced[index].isOpen = reading.isBeingWritten
            if savingState.displaced[index].isOpen { continue }
            savingState.displaced[index].note(reading, merge(reading, displaced))
            guard isOld, savingState.displaced[index].isMerged, !isUnsaved(displaced.domain) else { continue }
            if !displaced.file.removeName() { hasRemovedAll = false }
            savingState.displaced[index].isGone = true
        }
        savingState.displaced.removeAll { $0.isGone }
        updateOpenDisplaced(savingState)
        // A file that can't be removed is now a leftover, as after a crash.
        if !hasRemovedAll { savingState.hasRecovered = false }
    }

    private func updateOpenDisplaced(_ savingState: borrowing SavingState) {
        let open = Set(savingState.displaced.lazy.filter(\.isOpen).map(\.domain))
        state.withLock { $0.openDisplaced = open }
    }

    /// The paths of displaced files left to the next store, because they are still being written or their changes can't
    /// be saved.
    package var displacedPaths: [String] { saving.withLock { $0.temporaryPaths } }

    /// Returns whether a domain has unsaved changes that a foreign writer made to a displaced file.
    func isUnsaved(_ domain: Domain?) -> Bool {
        guard let domain else { return false }
        return state.withLock { state in
            state.domains[domain]?.merge.pending.values.contains { $0.writer == .file } ?? false
        }
    }

    /// Backs up displaced files with a foreign writer's changes, if these couldn't be saved and the store won't retry.
    func keepForeignEdits(of domain: Domain, _ savingState: inout SavingState) {
        guard lifetime == .transient, isUnsaved(domain) else { return }
        savingState.displaced.removeAll { displaced in
            guard displaced.domain == domain, displaced.known?.hash != displaced.expected?.hash,
                let copy = try? displaced.file.backUp()
            else { return false }
            reportCopy(copy)
            displaced.file.removeName()
            return true
        }
    }

    /// Merges the contents of a displaced file, or backs the file up if they can't be fully merged.
    ///
    /// - Returns: Whether the file can be removed without losing data.
    private func merge(_ reading: FileReading, _ displaced: Displaced) -> Bool {
        switch reading {
        case .contents(var contents):
            if let seal = displaced.expected?.seal { contents.evidence.isUnread = seal.isUnread }
            transition { [contents] state in
                let actions = state.applyDisplaced(
                    contents, of: displaced.domain, loadedBefore: displaced.total, now: .now())
                return ((), actions)
            }
            // Not all keys could be merged.
            return !contents.hasEquivalentKeys || keep(displaced.file.backUp)
        case .unusable:
            // A foreign writer wrote the file just as it was displaced, and it doesn't parse. It may be the writer's
            // only copy, so keep it.
            return keep(displaced.file.backUp)
        case .unchanged, .missing, .beingWritten:
            return true
        }
    }

    /// Makes a backup copy, and reports its path.
    ///
    /// - Returns: False if it can't be made now, for example on a full disk.
    func keep(_ copy: () throws(SystemCall.Failure) -> String) -> Bool {
        guard let path = try? copy() else { return false }
        reportCopy(path)
        return true
    }
}

extension Store.Displaced {
    /// Records the outcome of an examination, and whether the contents are merged or backed up.
    fileprivate mutating func note(_ reading: FileReading, _ isMerged: Bool) {
        self.isMerged = isMerged
        guard isMerged else { return }
        switch reading {
        case .contents(let contents): known = contents.version
        case .unusable(let damage): known = damage.version ?? known
        case .unchanged, .missing, .beingWritten: break
        }
    }
}
