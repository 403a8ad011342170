import Glibc
import Linux

/// The handling of displaced files, to which a writer may still be writing.
extension Saver {
    /// Examines a file that was just displaced.
    ///
    /// If a foreign writer wrote it, its changes become pending.
    mutating func examine(_ file: DisplacedFile?, of domain: Domain, after plan: SavePlan) {
        guard let file else {
            // The displaced file couldn't be opened. It is now a leftover, as after a crash.
            if plan.expected != nil { leftovers = .some }
            return
        }
        var new = Displaced(
            file: file, domain: domain, expected: plan.expected, known: plan.expected, total: plan.total)
        var backoff = Backoff(from: .milliseconds(1), to: .milliseconds(50), timeout: .milliseconds(200))
        repeat {
            let reading = new.file.examine(known: new.known)
            new.isOpen = reading.isBeingWritten
            if new.isOpen { continue }
            new.apply(reading, isMerged: merge(reading, from: new))
            break
        } while backoff.wait()
        displaced.append(new)
        updateOpenDisplaced()
        // Each displaced file holds a descriptor open. Release a few at a time, since removing all of them would delay
        // this save by tens of milliseconds.
        if displaced.count > Self.capacity {
            let count = displaced.count
            let first = nextReleased % count
            let last = min(first + Self.releasedPerSave, count)
            examineDisplaced(first..<last, olderThan: .zero)
            // Files that can't be released now are passed over, so that they don't keep others from it.
            nextReleased = displaced.count < count ? first : last
        }
    }

    /// Examines displaced files again, and releases those that are done with (`Store.examineDisplaced`).
    mutating func examineDisplaced(olderThan age: Duration) -> Bool {
        keptLock = nil
        examineDisplaced(displaced.indices, olderThan: age)
        let isResident = store.lifetime == .resident
        if isResident, leftovers != .none, let lock = try? DirectoryLock(store.directory, timeout: 0) {
            try? handleLeftovers()
            _ = consume lock
        }
        let open = Dictionary(grouping: displaced, by: \.domain).mapValues { Set($0.compactMap(\.expected?.hash)) }
        let hasLeftovers = leftovers != .none
        store.state.withLock {
            $0.hasLeftovers = hasLeftovers
            $0.forgetReplaced(but: open, hasLeftovers: hasLeftovers)
        }
        return !displaced.isEmpty || isResident && hasLeftovers
    }

    /// Releases displaced files for about a millisecond (`Store.releaseSomeDisplaced`).
    mutating func releaseSomeDisplaced(olderThan age: Duration) -> Bool {
        let start = ContinuousClock.now
        let before = displaced.count
        var kept = 0
        // The files are in the order in which they were displaced.
        while kept < displaced.count, start - displaced[kept].since >= age {
            let count = displaced.count
            // Files that can't be released must not keep the caller busy.
            if count < before, ContinuousClock.now - start > .milliseconds(1) { return true }
            examineDisplaced(kept..<kept + 1, olderThan: age)
            if displaced.count == count { kept += 1 }
        }
        return false
    }

    /// The number of displaced files above which some are examined and released early, since each holds a descriptor
    /// open.
    private static let capacity = 256
    /// The number of displaced files that a save examines if too many are open; more than it adds.
    private static let releasedPerSave = 2

    private mutating func examineDisplaced(_ range: Range<Int>, olderThan age: Duration) {
        let now = ContinuousClock.now
        for index in range {
            let isOld = now - displaced[index].since >= age
            // A file that its writer has closed is merged at any age.
            guard isOld || displaced[index].isOpen else { continue }
            let reading = displaced[index].file.examine(known: displaced[index].known)
            displaced[index].isOpen = reading.isBeingWritten
            if displaced[index].isOpen { continue }
            let isMerged = merge(reading, from: displaced[index])
            displaced[index].apply(reading, isMerged: isMerged)
            guard isOld, isMerged, !hasUnsavedForeignEdits(of: displaced[index].domain) else { continue }
            // A file that can't be removed is now a leftover, as after a crash.
            if !displaced[index].file.removeName() { leftovers = .some }
            displaced[index].isGone = true
        }
        displaced.removeAll { $0.isGone }
        updateOpenDisplaced()
    }

    private func updateOpenDisplaced() {
        let open = Set(displaced.lazy.filter(\.isOpen).map(\.domain))
        store.state.withLock { $0.openDisplaced = open }
    }

    /// The paths of the displaced files' hidden names.
    var displacedPaths: [String] { displaced.map(\.file.temporaryPath) }

    /// Returns whether a domain has unsaved changes that a foreign writer made to a displaced file.
    func hasUnsavedForeignEdits(of domain: Domain?) -> Bool {
        guard let domain else { return false }
        return store.state.withLock { state in
            state.domains[domain]?.merge.pending.values.contains { $0.writer == .file } ?? false
        }
    }

    /// Backs up displaced files with a foreign writer's changes, if these couldn't be saved and the store won't retry.
    mutating func backUpForeignEdits(of domain: Domain) {
        guard store.lifetime == .transient, hasUnsavedForeignEdits(of: domain) else { return }
        let store = store
        displaced.removeAll { displaced in
            guard displaced.domain == domain, displaced.known?.hash != displaced.expected?.hash,
                let copy = try? displaced.file.backUp(unless: displaced.expected?.hash)
            else { return false }
            store.reportCopy(copy)
            displaced.file.removeName()
            return true
        }
    }

    /// Merges the contents of a displaced file, or backs the file up if they can't be fully merged.
    ///
    /// - Returns: Whether the file can be removed without losing data.
    private func merge(_ reading: FileReading, from displaced: Displaced) -> Bool {
        switch reading {
        case .contents(var contents):
            displaced.expected?.addEvidence(to: &contents)
            store.transition { [contents] state in
                let actions = state.applyDisplaced(
                    contents, of: displaced.domain, loadedBefore: displaced.total, now: .now())
                return ((), actions)
            }
            // Not all keys could be merged.
            return !contents.hasEquivalentKeys || backUp(displaced)
        case .unusable(let damage) where damage.error.errno != nil:
            // A failure to read says nothing about the contents, so examine the file again.
            return false
        case .unusable:
            // A foreign writer wrote the file just as it was displaced, and it doesn't parse. It may be the writer's
            // only copy, so keep it.
            return backUp(displaced)
        case .unchanged, .missing, .beingWritten:
            return true
        }
    }

    private func backUp(_ displaced: Displaced) -> Bool {
        backUp { () throws(SystemCall.Failure) in try displaced.file.backUp(unless: displaced.expected?.hash) }
    }

    /// Makes a backup copy, if one is needed, and reports its path.
    ///
    /// - Returns: False if it can't be made now, for example on a full disk.
    func backUp(_ copy: () throws(SystemCall.Failure) -> String?) -> Bool {
        do throws(SystemCall.Failure) {
            if let path = try copy() { store.reportCopy(path) }
            return true
        } catch {
            return false
        }
    }
}

/// A displaced file, with the state of its examination.
struct Displaced {
    let file: DisplacedFile
    let domain: Domain
    /// The version that the save expected to replace.
    let expected: FileVersion?
    /// The last version that was merged or backed up.
    private(set) var known: FileVersion?
    /// `FileVersions.total` before the save that displaced it.
    let total: Int
    /// The time when the file was displaced.
    let since = ContinuousClock.now
    /// Whether a program had the file open for writing when it was last examined.
    var isOpen = false
    /// Whether the file's hidden name has been removed.
    var isGone = false

    /// Applies the outcome of an examination, if the contents are merged or backed up.
    fileprivate mutating func apply(_ reading: FileReading, isMerged: Bool) {
        guard isMerged else { return }
        switch reading {
        case .contents(let contents): known = contents.version
        case .unusable(let damage): known = damage.version ?? known
        case .unchanged, .missing, .beingWritten: break
        }
    }
}
