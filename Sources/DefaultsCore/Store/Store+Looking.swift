import Linux

extension Store {
    /// What a look at files leaves to be done.
    package struct Unsettled: Hashable, Sendable {
        /// Files that someone has open for writing: look again in a moment.
        package var beingWritten: Set<Domain> = []
        /// Files that have gone, or that don't parse: look again in a while, since editors move a file away for a
        /// moment and some writers finish it in a second step.
        ///
        /// Then `settle` it.
        package var doubtful: Set<Domain> = []
        /// Files that the system doesn't let be read, or whose directory is out of sight: look again in a longer while, since
        /// nobody may tell when it does.
        package var unreadable: Set<Domain> = []
        /// Why not all files were found that there are: look at all again in a longer while.
        package var problem: DefaultsError?

        package var isEmpty: Bool {
            beingWritten.isEmpty && doubtful.isEmpty && unreadable.isEmpty && problem == nil
        }
    }

    /// Whether bad news of a file is taken at once.
    package enum Haste: Sendable {
        /// No: a file that is gone or doesn't parse is left as it was known, and reported as doubtful.
        case patient
        /// Yes: it has been doubtful for long enough.
        case settle
    }

    /// Looks at files, and merges what changed.
    ///
    /// Reads from the disk.
    ///
    /// - Parameters:
    ///   - domains: the domains.
    ///   - patience: the way to deal with files that are open for writing.
    ///   - haste: the way to deal with files that are gone or don't parse.
    ///   - isBaseline: whether the first values of a domain are no change.
    ///   - isTold: whether an event has named the files; then they are read, whatever their times say.
    /// - Returns: the files to look at again.
    package func look(
        at domains: some Sequence<Domain>, patience: DomainFile.Patience = .wait, haste: Haste = .patient,
        isBaseline: Bool = false, isTold: Bool = false
    ) -> Unsettled {
        files.withLock { _ in
            var unsettled = Unsettled()
            for domain in domains {
                look(at: domain, patience, haste, isBaseline: isBaseline, isTold: isTold, &unsettled)
            }
            return unsettled
        }
    }

    /// Looks at every domain that has a file, and at every one that is known, the system's included.
    ///
    /// Reads from the disk.
    ///
    /// - Throws: `directory` when the directory is gone or can't be read, before anything is looked at. No domain counts as
    /// gone then: it may be a file system that isn't mounted, or a directory that someone is about to put back.
    package func lookAtAll(
        haste: Haste = .patient, isBaseline: Bool = false
    ) throws(DefaultsError) -> Unsettled {
        let (own, problem) = try directory.domainsAsFarAsTheyAreSeen()
        let known = state.withLock { Set($0.domains.keys) }
        if known.contains(where: { $0.user == .current }), !directory.isUsable, let problem = directory.problem {
            for domain in known where domain.user == .current { loseSight(of: domain) }
            throw problem
        }
        let domains = known.union(own).union(system.domains()).sorted()
        var unsettled = look(at: domains, haste: haste, isBaseline: isBaseline)
        unsettled.problem = problem
        return unsettled
    }

    /// Looks at every domain of the system's directories that has a file, and at every one that is known.
    ///
    /// Reads from the disk. A directory that is missing has no domains; while one can't be read, which `system.problems`
    /// tells, the last values stay.
    package func lookAtSystem(haste: Haste = .patient, isBaseline: Bool = false) -> Unsettled {
        let known = state.withLock { Set($0.domains.keys.filter { $0.user != .current }) }
        return look(at: known.union(system.domains()).sorted(), haste: haste, isBaseline: isBaseline)
    }

    private func look(
        at domain: Domain, _ patience: DomainFile.Patience, _ haste: Haste, isBaseline: Bool, isTold: Bool,
        _ unsettled: inout Unsettled
    ) {
        let known = state.withLock { $0.domains[domain] }
        let file = known?.file
        let isFirst = isBaseline && known == nil
        let reading = read(domain, known: file, patience: isFirst ? .insist : patience, isTold: isTold)
        if reading.isBadNews, !isInSight(domain) {
            loseSight(of: domain)
            unsettled.unreadable.insert(domain)
            return
        }
        if haste == .patient {
            switch reading {
            case .missing where known?.hash != nil:
                let time = directory(of: domain)?.lastChange(around: domain, now: .now())
                doubt(domain, missingSince: time ?? .now())
                unsettled.doubtful.insert(domain)
                return
            case .unusable where file != nil || !isBaseline:
                unsettled.doubtful.insert(domain)
                return
            default: break
            }
        }
        unsettled.note(reading, of: domain)
        transition { state in
            ((), state.take(reading, of: domain, isBaseline: isFirst, now: .now()))
        }
    }

    /// Takes up a log that an earlier agent left, and looks at every file for the first time.
    ///
    /// Reads from the disk.
    package func resume(_ recovered: ChangeLogFile.Recovered) throws(DefaultsError) -> Unsettled {
        let records = Dictionary(grouping: recovered.records, by: \.domain)
        let oldest = recovered.records.first?.revision ?? recovered.head + 1
        let (own, problem) = try directory.domainsAsFarAsTheyAreSeen()
        let domains = Set(own + system.domains()).union(recovered.marks.keys).union(records.keys).sorted()
        return files.withLock { _ in
            var unsettled = Unsettled()
            unsettled.problem = problem
            for domain in domains {
                let reading = read(domain, known: nil, patience: .insist)
                unsettled.note(reading, of: domain)
                transition { state in
                    let actions = state.resume(
                        domain, marks: recovered.marks[domain] ?? [], records: records[domain] ?? [], since: oldest,
                        reading: reading, now: .now())
                    return ((), actions)
                }
            }
            return unsettled
        }
    }

    /// Notes since when a domain's file is gone, which isn't believed yet.
    func doubt(_ domain: Domain, missingSince time: Timestamp) {
        state.withLock { $0.doubt(domain, missingSince: time) }
    }

    /// Notes that a domain's file is out of sight with its directory.
    func loseSight(of domain: Domain) {
        state.withLock { $0.loseSight(of: domain, now: .now()) }
    }

    // MARK: Files

    /// Reads a domain's file.
    func read(
        _ domain: Domain, known: FileVersion?, patience: DomainFile.Patience = .wait, isTold: Bool = false
    ) -> FileReading {
        file(of: domain)?.read(known: known, patience: patience, isTold: isTold) ?? .missing
    }

    /// A domain's file; `nil` when it would be in a directory that isn't one of the store's.
    func file(of domain: Domain) -> DomainFile? {
        guard let directory = directory(of: domain) else { return nil }
        return DomainFile(
            path: directory.path(of: domain), limits: limits,
            managedDirectory: domain.user == .managed ? directory.path : nil, mayReplaceDamage: mayReplaceDamage)
    }

    private func directory(of domain: Domain) -> PreferencesDirectory? {
        domain.user == .current ? directory : system.directory(of: domain.user)
    }

    /// Whether a file that can't be had is to be believed gone or bad, and not merely out of sight with its directory.
    func isInSight(_ domain: Domain) -> Bool {
        guard let directory = directory(of: domain) else { return true }
        // A system's directory needn't be there, nor one for a host. The user's own, once seen, comes back.
        let place = PreferencesDirectory(path: Path.directory(of: directory.path(of: domain)))
        return (directory.isUsable || directory.isMissing && domain.user != .current)
            && (place.isUsable || place.isMissing)
    }
}

extension Store.Unsettled {
    /// Notes what is to be looked at again because of what came of a look.
    fileprivate mutating func note(_ reading: FileReading, of domain: Domain) {
        switch reading {
        case .beingWritten: beingWritten.insert(domain)
        case .unusable(let damage) where damage.error.errno != nil: unreadable.insert(domain)
        case .missing, .unchanged, .contents, .unusable: break
        }
    }
}
