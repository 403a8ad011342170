import Glibc
import Linux
import PropertyList

extension Store {
    /// Publishes a domain's edits, merging with whatever foreign writers did meanwhile.
    ///
    /// Waits for the disk. Of a domain that can only be read there is nothing to publish.
    ///
    /// When it returns, every edit that was made before the call is durable. On an error the edits stay pending, the
    /// error is kept for `failures()`, and the file is as it was, unless it is only its durability that failed.
    ///
    /// - Parameters:
    ///   - domain: the domain.
    ///   - policy: the way to deal with the lock and with writers.
    /// - Throws: why edits aren't saved; what the policy has reported isn't kept.
    package func publish(_ domain: Domain, _ policy: ObstaclePolicy = .wait) throws(DefaultsError) {
        guard domain.user == .current, state.withLock({ $0.plan(for: domain) }) != nil else { return }
        if let failure = try publish(domain, taking: nil, policy).failure { throw failure }
    }

    /// Notes that a domain's edits can't be saved, since something has stood in the way for too long.
    package func giveUp(_ domain: Domain, _ failure: DefaultsError) {
        transition { state in ((), state.failed(domain, publisher.told(failure), now: .now())) }
    }

    /// Takes an edit and publishes it, and no other store of the directory comes between: what the edit expects is what
    /// the file holds.
    ///
    /// Waits for the disk. An edit that was taken and can't be saved yet is in force and pending as any other.
    ///
    /// - Returns: the revision of its record, or the log's head when it changed nothing; and why it isn't saved, if it isn't.
    /// - Throws: what `submit` throws, or why the directory can't be had; then the edit isn't made.
    package func commit(
        _ request: EditRequest, _ policy: ObstaclePolicy = .wait
    ) throws(DefaultsError) -> (revision: Revision, failure: DefaultsError?) {
        try request.check()
        // Without the disk, if the state contradicts it already.
        if state.withLock({ $0.isRefuted(request) }) { throw Self.refutation(of: request.domain) }
        let (taken, failure) = try publish(request.domain, taking: request, policy)
        return (taken ?? cursor.revision, failure)
    }

    /// - Returns: the revision of an edit that was taken, and why edits are left unsaved, if they are.
    /// - Throws: why an edit wasn't taken.
    private func publish(
        _ domain: Domain, taking request: EditRequest?, _ policy: ObstaclePolicy
    ) throws(DefaultsError) -> (taken: Revision?, failure: DefaultsError?) {
        var taken: Revision?
        do throws(DefaultsError) {
            try files.withLock { inHand throws(DefaultsError) in
                // Not where it has held files: it is gone, and comes back with them, or they would seem to be removed.
                let hasHeldFiles = state.withLock { state in
                    state.domains.contains { $0.user == .current && $1.hash != nil }
                }
                if !hasHeldFiles { try directory.makeIfUsual() }
                // Before the lock's own file changes the directory.
                inHand.directoryChange = directory.lastChange(around: domain, now: .now())
                let lock = try DirectoryLock(directory, timeout: policy == .wait ? 10_000 : 0)
                let targetLock = try lockTarget(of: domain, policy)
                if publisher == .passing ? !inHand.hasRecovered : !inHand.hasLooked {
                    inHand.hasLooked = true
                    inHand.hasRecovered = try keepLeftovers(&inHand)
                }
                if let request {
                    var unsettled = Unsettled()
                    relook(at: domain, inHand, &unsettled)
                    taken = try take(request)
                }
                do throws(DefaultsError) {
                    try publish(domain, policy, &inHand)
                } catch {
                    // What it had written aside may be left.
                    inHand.hasRecovered = false
                    keepForeignEdits(of: domain, &inHand)
                    throw error
                }
                _ = consume targetLock
                _ = consume lock
            }
        } catch {
            // An edit that wasn't taken says nothing of those that wait.
            if request != nil, taken == nil { throw error }
            if policy.isReported(error) { return (taken, error) }
            let failure = publisher.told(error)
            transition { state in ((), state.failed(domain, failure, now: .now())) }
            return (taken, failure)
        }
        return (taken, nil)
    }

    /// Publishes all edits that are pending.
    ///
    /// Waits for the disk.
    ///
    /// - Returns: what couldn't be published, and why.
    package func publishAll() -> [(domain: Domain, error: DefaultsError)] {
        pending().compactMap { domain, _ in
            do throws(DefaultsError) {
                try publish(domain)
                return nil
            } catch {
                return (domain, error)
            }
        }
    }

    private func publish(
        _ domain: Domain, _ policy: ObstaclePolicy, _ inHand: inout FilesInHand
    ) throws(DefaultsError) {
        guard let file = file(of: domain) else { return }
        // Each round that doesn't end it was overtaken by a foreign writer. One that writes all the time is let win for
        // a while; the edits stay pending, and the next attempt comes soon.
        // Edits that are made meanwhile are taken in with a round that is made anyway, and else left to the next attempt.
        let last = state.withLock { $0.lastSequence }
        for round in 0..<policy.rounds {
            guard let plan = state.withLock({ $0.plan(for: domain, upTo: last) }) else { return }
            // Before anything is written and brought to the disk in vain.
            if policy == .report, file.isOpenForWriting { throw isOpen(file) }
            if let damage = plan.damage {
                if round == 0, damage.version == nil {
                    // It couldn't be read when it was last looked at; perhaps it is out of the way by now.
                    var unsettled = Unsettled()
                    relook(at: domain, inHand, &unsettled)
                    continue
                }
                if damage.isProtected { throw damage.refusal }
                try keepAside(domain, file, damage)
            } else if plan.losesEquivalentKeys, let version = plan.expected {
                try keepAside(
                    domain, file, version, because: .equivalentKeys,
                    "has keys that differ only in Unicode normalization")
            }
            let (bytes, format) = try encode(plan, for: domain, in: file)
            let hash = bytes.map(ContentHash.init)
            state.withLock { $0.intend(plan, for: domain, hash: hash) }
            writeLog()
            switch try file.publish(bytes, expecting: plan.expected, newest: plan.newest, by: publisher, policy) {
            case .overtaken:
                inHand.hasRecovered = false
                var unsettled = Unsettled()
                relook(at: domain, inHand, &unsettled)
                if unsettled.unreadable.contains(domain), let problem = directory.problem { throw problem }
                if !unsettled.isEmpty { poll(nil, 0, 5) }
            case .openForWriting:
                throw isOpen(file)
            case .done(let version, let displaced):
                transition { state in
                    ((), state.published(plan, for: domain, as: version, format: format, now: .now()))
                }
                examine(displaced, of: domain, plan, &inHand)
            case .doneUnsafely(let version, let error, let displaced):
                // The edits stay pending, and are written once more on top of this version.
                state.withLock { state in
                    state.domains[domain]?.file = version
                    state.domains[domain]?.earlierFile = nil
                    state.domains[domain]?.damage = nil
                }
                examine(displaced, of: domain, plan, &inHand)
                throw error
            }
        }
        throw DefaultsError(
            policy == .wait ? .notSaved : .openForWriting,
            "Another program keeps rewriting \(file.path)"
                + (policy == .wait ? "; \(publisher.consequence)." : "."))
    }

    /// Locks the directory, too, that a domain's file is a link into: a process that names the file by its path locks that.
    ///
    /// - Returns: the lock; `nil` for an ordinary file, and where no lock can be had.
    private func lockTarget(of domain: Domain, _ policy: ObstaclePolicy) throws(DefaultsError) -> DirectoryLock? {
        guard let file = file(of: domain), file.isLink, let target = try? DomainFile.resolvingLinks(file.path) else {
            return nil
        }
        let place = PreferencesDirectory(path: Path.directory(of: target))
        let own = PreferencesDirectory(path: Path.directory(of: file.path))
        if [directory.resolvedPath, own.resolvedPath].contains(place.resolvedPath) { return nil }
        do throws(DefaultsError) {
            return try DirectoryLock(place, timeout: policy == .wait ? 10_000 : 0)
        } catch {
            if error.code == .directory { return nil }
            throw error
        }
    }

    /// The error of a file that is open for writing.
    private func isOpen(_ file: DomainFile) -> DefaultsError {
        DefaultsError(
            publisher == .passing ? .notSaved : .openForWriting,
            "Another program has \(file.path) open for writing, so the file was not replaced. To find the program, run "
                + "`lsof \(file.path)`. Close the file there, then try again.")
    }

    /// Reads a file that may not be as expected.
    ///
    /// What it holds now is final for this purpose: it is about to be replaced. Of one that is being written that is what it
    /// was last known to hold.
    private func relook(at domain: Domain, _ inHand: FilesInHand, _ unsettled: inout Unsettled) {
        let (known, damage) = state.withLock { ($0.domains[domain]?.file, $0.domains[domain]?.damage) }
        var reading = read(domain, known: known, isTold: true)
        // Editors move a file away for a moment, and some writers finish it in a second step.
        var waited: Int32 = 0
        while reading.isNews(after: known, damage), waited < 250 {
            if case .missing = reading { doubt(domain, missingSince: inHand.directoryChange) }
            poll(nil, 0, 10)
            waited += 10
            reading = read(domain, known: known, isTold: true)
        }
        if reading.isBadNews, !isInSight(domain) {
            loseSight(of: domain)
            unsettled.unreadable.insert(domain)
            return
        }
        if case .beingWritten = reading { unsettled.beingWritten.insert(domain) }
        // A file of a domain of which nothing is known has come since it was looked for: that is news.
        transition { state in ((), state.take(reading, of: domain, isBaseline: false, now: .now())) }
    }

    /// The new version's bytes: the file's own where no key changes, and else in the file's format, or as binary where that
    /// can't hold a value, or would be too large to be read again; `nil` for no file.
    ///
    /// What a link leads to stays, and is empty: without it the link would lead nowhere.
    private func encode(
        _ plan: PublicationPlan, for domain: Domain, in file: DomainFile
    ) throws(DefaultsError) -> (bytes: [UInt8]?, format: PropertyListFormat) {
        if plan.values.isEmpty, !file.isLink { return (nil, plan.format) }
        if let text = text(replacedBy: plan, in: file), let version = plan.expected {
            if let bytes = splice(plan, into: text) { return (bytes, plan.format) }
            if TextComments.exist(in: text, plan.format) {
                try keepAside(domain, file, version, because: .comments, "has comments that would be lost")
            }
        }
        let value = PropertyListValue.dictionary(plan.values)
        if plan.format == .xml, let bytes = try? value.write(as: .xml), bytes.count <= limits.bytes {
            return (bytes, .xml)
        }
        let bytes: [UInt8]
        do throws(PropertyListError) {
            // Old-style text would make every number a string.
            bytes = try value.write(as: .binary)
        } catch {
            throw DefaultsError(.invalidValue, "The domain \(domain) can't be written: \(error)")
        }
        guard bytes.count <= limits.bytes else {
            throw DefaultsError(
                .notSaved,
                "The domain \(domain) has grown to \(bytes.count) bytes, and a file of more than \(limits.bytes) could not be "
                    + "read again; remove a key, and keep what is large in a file of its own.")
        }
        return (bytes, .binary)
    }

    /// Copies a damaged file aside, once for each content, before it is replaced.
    private func keepAside(_ domain: Domain, _ file: DomainFile, _ damage: FileDamage) throws(DefaultsError) {
        guard let version = damage.version else {
            // It can't be read, or is no file: then it can't be kept either, and is left alone.
            let consequence = publisher == .lasting ? "Edits are kept in memory" : "Nothing is saved"
            throw DefaultsError(.notSaved, "\(consequence): \(damage.error)", errno: damage.error.errno)
        }
        try keepAside(domain, file, version, because: .damaged, "is damaged")
    }

    /// Copies a file aside, once for each content, before it is replaced.
    private func keepAside(
        _ domain: Domain, _ file: DomainFile, _ version: FileVersion, because reason: AsideFile.Reason,
        _ finding: String
    ) throws(DefaultsError) {
        if state.withLock({ $0.domains[domain]?.keptAside == version.hash }) { return }
        let kept: FileVersion
        do throws(SystemCall.Failure) {
            let source = try FileDescriptor(opening: file.path, O_RDONLY | O_NONBLOCK)
            guard let (bytes, version, _) = try file.readWhole(source, patience: .insist) else {
                throw SystemCall.Failure(number: EBUSY)
            }
            tellKept(try AsideFile.keep(bytes, of: file.path, because: reason))
            kept = version
        } catch {
            // It changes at this moment.
            if error.number == EBUSY { throw isOpen(file) }
            throw DefaultsError(
                .notSaved, errno: error.number,
                "\(file.path) \(finding) and can't be copied aside, so it isn't replaced; \(publisher.consequence)")
        }
        state.withLock { $0.domains[domain]?.keptAside = kept.hash }
    }
}
