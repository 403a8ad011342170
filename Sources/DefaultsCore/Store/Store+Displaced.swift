import Glibc
import Linux

/// Replaced versions, to which a writer may still be writing.
extension Store {
    /// Reads a version that was just replaced.
    ///
    /// If a foreign writer wrote it, its changes become pending.
    func examine(
        _ file: DisplacedFile?, of domain: Domain, _ plan: PublicationPlan, _ inHand: inout FilesInHand
    ) {
        guard let file else {
            // It couldn't be opened, and is a leftover now, as of a crash.
            if plan.expected != nil { inHand.hasRecovered = false }
            return
        }
        var displaced = Displaced(
            file: file, domain: domain, expected: plan.expected?.hash, known: plan.expected, total: plan.total)
        var pause: Int32 = 1
        var waited: Int32 = 0
        while waited < 200 {
            let reading = displaced.file.examine(known: displaced.known)
            if case .beingWritten = reading {
                poll(nil, 0, pause)
                waited += pause
                pause = min(pause * 2, 50)
                continue
            }
            displaced.take(reading, merge(reading, displaced))
            break
        }
        inHand.displaced.append(displaced)
        // Each is an open file.
        if inHand.displaced.count > FilesInHand.capacity { examineDisplaced(olderThan: .zero, &inHand) }
    }

    /// Examines replaced versions once more, and lets those go that nobody has open for writing and whose changes are saved;
    /// a store that stays does the same with what a crash left behind.
    ///
    /// Any other keeps its hidden name, so that it is there for the next store if this one ends.
    ///
    /// Reads from the disk.
    ///
    /// - Parameter age: the time since its replacement after which a version is let go.
    /// - Returns: whether any are left, or can't be removed, and must be examined again.
    package func examineDisplaced(olderThan age: Duration = .zero) -> Bool {
        files.withLock { inHand in
            examineDisplaced(olderThan: age, &inHand)
            if publisher == .lasting, !inHand.hasRecovered, let lock = try? DirectoryLock(directory, timeout: 0) {
                inHand.hasLooked = true
                inHand.hasRecovered = (try? keepLeftovers(&inHand)) ?? false
                _ = consume lock
            }
            let open = Dictionary(grouping: inHand.displaced, by: \.domain).mapValues { Set($0.compactMap(\.expected)) }
            state.withLock { $0.forgetReplaced(but: open, hasLeftovers: !inHand.hasRecovered) }
            return !inHand.displaced.isEmpty || publisher == .lasting && !inHand.hasRecovered
        }
    }

    private func examineDisplaced(olderThan age: Duration, _ inHand: inout FilesInHand) {
        let now = ContinuousClock.now
        var hasRemovedAll = true
        for index in inHand.displaced.indices where now - inHand.displaced[index].since >= age {
            let displaced = inHand.displaced[index]
            let reading = displaced.file.examine(known: displaced.known)
            if case .beingWritten = reading { continue }
            inHand.displaced[index].take(reading, merge(reading, displaced))
            guard inHand.displaced[index].isMerged, !isUnsaved(displaced.domain) else { continue }
            if !displaced.file.removeName() { hasRemovedAll = false }
            inHand.displaced[index].isGone = true
        }
        inHand.displaced.removeAll { $0.isGone }
        // It is a leftover now, as of a crash.
        if !hasRemovedAll { inHand.hasRecovered = false }
    }

    /// The paths of replaced versions that stay for the next store: they are still being written, or can't be saved.
    package var displacedPaths: [String] { files.withLock { $0.temporaryPaths } }

    /// Whether changes that a foreign writer made to a replaced version are still to be saved.
    func isUnsaved(_ domain: Domain?) -> Bool {
        guard let domain else { return false }
        return state.withLock { state in
            state.domains[domain]?.merge.pending.values.contains { $0.writer == .file } ?? false
        }
    }

    /// Keeps replaced versions that a foreign writer wrote, where their changes could not be published and nobody stays
    /// to try again.
    func keepForeignEdits(of domain: Domain, _ inHand: inout FilesInHand) {
        guard publisher == .passing, isUnsaved(domain) else { return }
        inHand.displaced.removeAll { displaced in
            guard displaced.domain == domain, displaced.known?.hash != displaced.expected,
                let copy = try? displaced.file.keepAside()
            else { return false }
            tellKept(copy)
            displaced.file.removeName()
            return true
        }
    }

    /// Merges what a replaced version holds; what can't be merged is copied.
    ///
    /// - Returns: whether nothing of it would be lost with it.
    private func merge(_ reading: FileReading, _ displaced: Displaced) -> Bool {
        switch reading {
        case .contents(let contents):
            transition { state in
                let actions = state.takeDisplaced(
                    contents, of: displaced.domain, loadedBefore: displaced.total, now: .now())
                return ((), actions)
            }
            // Not all of it could be merged.
            return !contents.hasEquivalentKeys || keep(displaced.file.keepAside)
        case .unusable:
            // Written by someone, to no good end, just when it was replaced. It is theirs: keep it.
            return keep(displaced.file.keepAside)
        case .unchanged, .missing, .beingWritten:
            return true
        }
    }

    /// Makes a copy, and reports its path.
    ///
    /// - Returns: false when it can't be made now, as on a disk that is full.
    func keep(_ copy: () throws(SystemCall.Failure) -> String) -> Bool {
        guard let path = try? copy() else { return false }
        tellKept(path)
        return true
    }
}

extension Store.Displaced {
    /// Takes what a look at the version found, and whether it is merged or copied.
    fileprivate mutating func take(_ reading: FileReading, _ isMerged: Bool) {
        self.isMerged = isMerged
        guard isMerged else { return }
        switch reading {
        case .contents(let contents): known = contents.version
        case .unusable(let damage): known = damage.version ?? known
        case .unchanged, .missing, .beingWritten: break
        }
    }
}
