import Linux

extension Store {
    /// The files that must be read again after a reload.
    package struct ReloadOutcome: Hashable, Sendable {
        /// Files that a program has open for writing: read them again soon.
        package var beingWritten: Set<Domain> = []
        /// Files that are missing or don't parse: read them again after a delay, with `LossPolicy.believe`.
        ///
        /// Editors briefly move a file away, and some writers complete it in a second step.
        package var unconfirmed: Set<Domain> = []
        /// Files that this user may not read, or whose directory is inaccessible: read them again after a longer delay.
        ///
        /// There may be no event when they become accessible.
        package var unreadable: Set<Domain> = []
        /// Files that weren't read because reading them may take long: read them on a thread that may wait.
        package var postponed: Set<Domain> = []
        /// Files that weren't read because another thread is reading or saving them: read them when it is done.
        package var busy: Set<Domain> = []
        /// The reason why not all files could be found: reload all of them after a longer delay.
        package var problem: DefaultsError?

        /// The outcome if every file's state is certain.
        package static let none = ReloadOutcome()

        package var isEmpty: Bool {
            beingWritten.isEmpty && unconfirmed.isEmpty && unreadable.isEmpty && postponed.isEmpty && busy.isEmpty
                && problem == nil
        }
    }

    /// The way to deal with a file that is newly missing or unusable.
    package enum LossPolicy: Sendable {
        /// Keep its last known state, and report the file as unconfirmed.
        case confirmLater
        /// Accept the loss, since the file has been missing or unusable for long enough.
        case believe
    }

    /// Reads files, and merges their changes.
    ///
    /// Reads from the disk. Files that must be read twice are read again after one pause for all of them.
    ///
    /// - Parameters:
    ///   - domains: The domains whose files to read.
    ///   - openWriters: The way to deal with files that are open for writing.
    ///   - losses: The way to deal with files that are missing or don't parse.
    ///   - isBaseline: Whether the first values read for an unknown domain are its starting point, and not a change.
    ///   - afterEvent: Whether an event has named the files; they are then read even if their times are unchanged.
    /// - Returns: The files to read again.
    package func reload(
        _ domains: some Sequence<Domain>, openWriters: DomainFile.OpenWriterPolicy = .wait,
        losses: LossPolicy = .confirmLater,
        isBaseline: Bool = false, afterEvent: Bool = false
    ) -> ReloadOutcome {
        var outcome = ReloadOutcome()
        var uncertain: [(domain: Domain, version: FileVersion)] = []
        func reload(_ domain: Domain, after earlier: FileVersion?) {
            fileLocks.withFile(of: domain) {
                let known = state.withLock { $0.domains[domain] }
                let isFirst = isBaseline && known == nil
                let attempt = file(of: domain)?.attempt(
                    known: known?.file, openWriters: isFirst ? .readAnyway : openWriters, afterEvent: afterEvent,
                    after: earlier)
                switch attempt ?? .certain(.missing) {
                case .uncertain(let version): uncertain.append((domain, version))
                case .certain(let reading):
                    apply(reading, of: domain, after: known, losses: losses, isBaseline: isBaseline, to: &outcome)
                }
            }
        }
        for domain in domains { reload(domain, after: nil) }
        if uncertain.isEmpty { return outcome }
        Backoff.pause(DomainFile.confirmationDelay)
        for (domain, version) in uncertain { reload(domain, after: version) }
        return outcome
    }

    /// Reads files that an event has named, and merges their changes, but postpones files that may take long.
    ///
    /// Those are files that are large or can't be leased, and links, which may lead to a slow file system. Files that
    /// another thread uses are left to the caller, too. So a thread that must not wait may call this, unless the
    /// directory itself is slow.
    ///
    /// - Returns: The files to read again.
    package func reloadWithoutWaiting(
        _ domains: some Sequence<Domain>, losses: LossPolicy = .confirmLater
    ) -> ReloadOutcome {
        var outcome = ReloadOutcome()
        for domain in domains {
            let isDone = fileLocks.withFileIfAvailable(of: domain) {
                let known = state.withLock { $0.domains[domain] }
                guard let file = file(of: domain) else { return true }
                guard let reading = file.readQuickly(known: known?.file) else { return false }
                apply(reading, of: domain, after: known, losses: losses, isBaseline: false, to: &outcome)
                return true
            }
            switch isDone {
            case true?: break
            case false?: outcome.postponed.insert(domain)
            case nil: outcome.busy.insert(domain)
            }
        }
        return outcome
    }

    /// Reloads every domain that has a file, and every known domain, including the system's.
    ///
    /// Reads from the disk.
    ///
    /// - Throws: `directory` if the directory is missing or can't be read. No file has been read then, and no domain
    ///   counts as removed: the file system may not be mounted, or the user may be about to put the directory back.
    package func reloadAll(
        losses: LossPolicy = .confirmLater, isBaseline: Bool = false
    ) throws(DefaultsError) -> ReloadOutcome {
        let (own, problem) = try directory.visibleDomains()
        let known = state.withLock { Set($0.domains.keys) }
        if known.contains(where: { $0.user == .current }), !directory.isUsable, let problem = directory.problem {
            markFilesUnreachable()
            throw problem
        }
        followDirectory()
        let domains = known.union(own).union(system.domains()).sorted()
        var outcome = reload(domains, losses: losses, isBaseline: isBaseline)
        outcome.problem = problem
        return outcome
    }

    /// Reloads every domain that has a file in the system's directories, and every known domain in them.
    ///
    /// Reads from the disk. A directory that is missing has no domains. While a directory can't be read, the last
    /// values stay in effect; `system.problems` then has the error.
    package func reloadSystem(losses: LossPolicy = .confirmLater, isBaseline: Bool = false) -> ReloadOutcome {
        let known = state.withLock { Set($0.domains.keys.filter { $0.user != .current }) }
        return reload(known.union(system.domains()).sorted(), losses: losses, isBaseline: isBaseline)
    }

    /// Merges what was read of a file that was in a known state before.
    private func apply(
        _ reading: FileReading, of domain: Domain, after known: DomainState?, losses: LossPolicy, isBaseline: Bool,
        to outcome: inout ReloadOutcome
    ) {
        if reading.isLoss, !isReachable(domain) {
            markUnreachable(of: domain)
            outcome.unreadable.insert(domain)
            return
        }
        if losses == .confirmLater {
            switch reading {
            case .missing where known?.hash != nil:
                let time = directory(of: domain)?.lastChange(around: domain, now: .now())
                markMissing(domain, since: time ?? .now())
                outcome.unconfirmed.insert(domain)
                return
            case .unusable where known?.file != nil || !isBaseline:
                outcome.unconfirmed.insert(domain)
                return
            default: break
            }
        }
        outcome.add(reading, of: domain)
        transition { state in
            ((), state.apply(reading, of: domain, isBaseline: isBaseline && known == nil, now: .now()))
        }
    }

    /// Records the time at which a domain's file went missing, while the loss is unconfirmed.
    func markMissing(_ domain: Domain, since time: Timestamp) {
        transition { state in
            state.markMissing(domain, since: time)
            return ((), [])
        }
    }

    /// Records that a domain's file is inaccessible because its directory is.
    func markUnreachable(of domain: Domain) {
        transition { state in
            state.markUnreachable(of: domain, now: .now())
            return ((), [])
        }
    }

    // MARK: Files

    /// Reads a domain's file.
    func read(
        _ domain: Domain, known: FileVersion?, openWriters: DomainFile.OpenWriterPolicy = .wait,
        afterEvent: Bool = false
    ) -> FileReading {
        file(of: domain)?.read(known: known, openWriters: openWriters, afterEvent: afterEvent) ?? .missing
    }

    /// Returns a domain's file; `nil` if its directory isn't one of the store's.
    func file(of domain: Domain) -> DomainFile? {
        guard let directory = directory(of: domain) else { return nil }
        return DomainFile(
            path: directory.path(of: domain), limits: limits,
            managedDirectory: domain.user == .managed ? directory.path : nil, mayReplaceDamage: replacesDamagedFiles,
            keepsSeals: lifetime == .resident)
    }

    /// Returns the directory that a domain belongs to; `nil` if it isn't one of the store's.
    func directory(of domain: Domain) -> PreferencesDirectory? {
        domain.user == .current ? directory : system.directory(of: domain.user)
    }

    /// Returns whether a domain's directory is accessible, so that a file that can't be read is itself gone or damaged.
    func isReachable(_ domain: Domain) -> Bool {
        guard let directory = directory(of: domain) else { return true }
        // A system directory may be missing, and so may a `ByHost` subdirectory. The user's own directory, once seen,
        // is expected to come back.
        let parent = PreferencesDirectory(path: Path.directory(of: directory.path(of: domain)))
        return (directory.isUsable || directory.isMissing && domain.user != .current)
            && (parent.isUsable || parent.isMissing)
    }
}

extension Store.ReloadOutcome {
    /// Records that a domain's file must be read again, if the outcome of reading it requires that.
    mutating func add(_ reading: FileReading, of domain: Domain) {
        switch reading {
        case .beingWritten: beingWritten.insert(domain)
        case .unusable(let damage) where damage.error.errno != nil: unreadable.insert(domain)
        case .missing, .unchanged, .contents, .unusable: break
        }
    }
}
