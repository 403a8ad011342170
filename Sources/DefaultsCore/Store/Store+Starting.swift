import Linux

extension Store {
    /// Reads every file for the first time, and resumes the log that an earlier agent left, if any.
    ///
    /// Call this before other threads use the store. Without a log to resume, the files' values are the starting point,
    /// and not a change. The files are read on all cores, and the values of most domains stay bytes (see
    /// `DomainAtRest`).
    ///
    /// Reads from the disk.
    ///
    /// - Parameter recovered: The contents of the earlier agent's log, with which the store's own log was created.
    /// - Returns: The files to read again.
    /// - Throws: `directory` if the directory is missing or can't be read.
    package func start(resuming recovered: RecoveredLog?) throws(DefaultsError) -> ReloadOutcome {
        let (own, problem) = try directory.visibleDomains()
        followDirectory()
        let domains = own + system.domains()
        var outcome = ReloadOutcome()
        outcome.problem = problem
        state.withLock { $0.hasLeftovers = true }
        if let recovered {
            // The records that this adds go into the log's file, even if the log can't hold all of them.
            state.withLock { state in
                state.outbox = []
                for (session, number) in recovered.identity.sessions {
                    state.appliedEdits.insert(EditIdentity(session: session, number: number))
                }
            }
            resume(domains, from: recovered, into: &outcome)
        } else {
            begin(domains, into: &outcome)
        }
        return outcome
    }

    /// Takes the files' values as the starting point.
    private func begin(_ domains: [Domain], into outcome: inout ReloadOutcome) {
        for (domain, reading) in readFirst(domains, isUndisturbed: { _, _ in true }) {
            if reading.isLoss, !isReachable(domain) {
                outcome.unreadable.insert(domain)
                continue
            }
            outcome.add(reading, of: domain)
            transition { ((), $0.apply(reading, of: domain, isBaseline: true, now: .now())) }
        }
    }

    /// Compares the files with the versions in an earlier agent's log.
    private func resume(_ domains: [Domain], from recovered: RecoveredLog, into outcome: inout ReloadOutcome) {
        let records = Dictionary(grouping: recovered.records, by: \.domain)
        let oldest = recovered.records.first?.revision ?? recovered.head + 1
        // A domain in the log may not have a file anymore.
        var known = Set(domains)
        let gone = (Array(recovered.marks.keys) + Array(records.keys)).filter { known.insert($0).inserted }
        let readings = readFirst(domains + gone) { domain, contents in
            guard let marks = recovered.marks[domain], marks.count == 1, let mark = marks.first else { return false }
            return mark.isComplete && mark.hash == contents.version.hash && records[domain] == nil
        }
        for (domain, reading) in readings {
            outcome.add(reading, of: domain)
            let now = Timestamp.now()
            let removed = directory(of: domain)?.lastChange(around: domain, now: now) ?? now
            let records = records[domain] ?? []
            let isSaveMade = wasAnnouncedSaveMade(of: domain, recovered.marks[domain] ?? [])
            let isOutdated = recovered.isOutdated(domain, given: reading, since: records.last?.time)
            transition { state in
                let actions = state.resume(
                    domain, marks: recovered.marks[domain] ?? [], records: records, since: oldest, reading: reading,
                    isSaveMade: isSaveMade, removedBefore: removed, isOutdated: isOutdated, now: now)
                return ((), actions)
            }
            findSeal(of: domain)
        }
    }

    /// Returns whether the save that an earlier agent announced last was made; `nil` if nothing beside the file tells.
    private func wasAnnouncedSaveMade(of domain: Domain, _ marks: [FileMark]) -> Bool? {
        guard let mark = marks.last, mark.isIntent, let expected = mark.expected else { return nil }
        let hash = marks.last { !$0.isIntent && !$0.isReplaced }?.hash
        return file(of: domain)?.hasReplaced(expected, hashed: hash, by: mark.hash)
    }

    /// Finds the seal of a resumed domain's file, if the log has older versions from which a writer might go on.
    private func findSeal(of domain: Domain) {
        let resumed = state.withLock { $0.domains[domain].flatMap { $0.merge.versions.isNew ? nil : $0.fileState } }
        guard case .usable(let version)? = resumed, let path = file(of: domain)?.path,
            let seal = Seal(ofFileAt: path, in: Path.directory(of: path), version.identity)
        else { return }
        state.withLock { $0.domains[domain]?.setSeal(seal, of: version) }
    }

    /// Reads files on all cores, and adds undisturbed domains to the state.
    ///
    /// A file can change again before its contents are used, but then an event has it read again.
    ///
    /// - Parameters:
    ///   - domains: The domains whose files to read.
    ///   - isUndisturbed: Whether there is nothing to know about a domain but its file's contents.
    /// - Returns: The outcomes for all other domains, in order.
    private func readFirst(
        _ domains: [Domain], isUndisturbed: (Domain, FileContents) -> Bool
    ) -> [(domain: Domain, reading: FileReading)] {
        let readings = readAll(domains.map { ($0, nil) })
        let others = transition { state in
            state.domains.reserveCapacity(domains.count)
            let others = readings.filter { domain, reading in
                guard case .contents(let contents) = reading, isUndisturbed(domain, contents) else { return true }
                return !state.addAtRest(domain, with: contents)
            }
            return (others, [])
        }
        return others.sorted { $0.0 < $1.0 }.map { (domain: $0, reading: $1) }
    }

    /// Reads files on all cores; those that must be read twice, after one pause for all of them.
    ///
    /// - Parameter files: The domains, with the version that an uncertain attempt has found.
    /// - Returns: The outcomes, in any order.
    private func readAll(_ files: [(domain: Domain, earlier: FileVersion?)]) -> [(domain: Domain, reading: FileReading)]
    {
        let portions = (files.count + Self.portion - 1) / Self.portion
        let results = ForkSafeMutex([[DomainFile.Attempt<FileReading>]](repeating: [], count: portions))
        Parallel.perform(portions) { [self] number in
            let portion = files[(number * Self.portion)..<min(files.count, (number + 1) * Self.portion)]
            let attempts = portion.map { domain, earlier in
                file(of: domain)?.attempt(known: nil, openWriters: .readAnyway, keepsBytes: true, after: earlier)
                    ?? .certain(.missing)
            }
            results.withLock { $0[number] = attempts }
        }
        var readings: [(domain: Domain, reading: FileReading)] = []
        var uncertain: [(domain: Domain, earlier: FileVersion?)] = []
        for (file, attempt) in zip(files, results.withLock({ $0 }).joined()) {
            switch attempt {
            case .certain(let reading): readings.append((file.domain, reading))
            case .uncertain(let version): uncertain.append((file.domain, version))
            }
        }
        if uncertain.isEmpty { return readings }
        Backoff.pause(DomainFile.confirmationDelay)
        return readings + readAll(uncertain)
    }

    /// The number of files that a thread reads at a time, in a few milliseconds.
    private static let portion = 128
}
