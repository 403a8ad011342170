import PropertyList

/// The domains and the change log, and every transition between their states.
///
/// Pure: no I/O, no clock, no lock. What must be done about a transition is returned, and done by `Store` afterwards.
struct StoreState {
    var domains = DomainTable()
    var log: ChangeLog
    /// What the log's file hasn't been told yet, in order; `nil` when the log has no file.
    var outbox: [ChangeLogFile.Entry]?
    /// The marks of replaced versions whose writers may still be at work, for the next agent.
    var replaced: [Domain: [FileMark]] = [:]
    /// Where the log ended when it was taken up.
    private var firstHead: Revision
    /// The number of the last edit.
    var lastSequence: UInt64 = 0
    /// The edits that need not be made again.
    var ledger = EditLedger()

    init(log: ChangeLog) {
        self.log = log
        firstHead = log.head
    }

    // MARK: Looking at files

    /// Takes what came of a look at a domain's file.
    ///
    /// With `isBaseline` the domain is seen for the first time, and what it holds is no change.
    mutating func take(
        _ reading: FileReading, of domain: Domain, isBaseline: Bool, now: Timestamp
    ) -> [StoreAction] {
        takeWhole(reading, of: domain, isBaseline: isBaseline, now: now) + tellRecovery(of: domain, at: now)
    }

    private mutating func takeWhole(
        _ reading: FileReading, of domain: Domain, isBaseline: Bool, now: Timestamp
    ) -> [StoreAction] {
        if case .missing = reading {} else { domains[domain]?.missingSince = nil }
        switch reading {
        case .beingWritten:
            return []
        case .unchanged(let version):
            let isMended = domains[domain]?.damage != nil && domains[domain]?.merge.pending.isEmpty == false
            domains[domain]?.file = version
            domains[domain]?.damage = nil
            // What stood in the way of publishing is gone.
            return isMended ? [.publish(domain, .atOnce)] : []
        case .missing:
            guard let state = domains[domain], state.hash != nil || state.damage != nil else { return [] }
            // It was gone before that was believed; what was set since then is later.
            let time = state.missingSince ?? now
            domains[domain]?.missingSince = nil
            return changeFile(of: domain, to: nil, at: now) { $0.removeFile(at: time) }
        case .contents(let contents):
            let time = contents.time
            let isUnseen = domains[domain]?.earlierFile != nil
            if contents.hasEquivalentKeys {
                domains[domain, default: DomainState()].equivalentKeys = contents.version.hash
            }
            guard isBaseline, domains[domain]?.merge.pending.isEmpty ?? true else {
                return changeFile(of: domain, to: contents.version, format: contents.format, at: now) {
                    // What can't be written to is taken as it is: nothing of it can be kept for its next version.
                    if domain.user != .current { $0.history = VersionHistory() }
                    if isUnseen {
                        // Of a key that the log doesn't tell of, only the edit is known to be a change.
                        for key in $0.pending.keys where $0.base[key] == nil { $0.base[key] = contents.values[key] }
                    }
                    return $0.reload(
                        contents.values, format: contents.format, changedAt: time,
                        writtenAt: contents.version.identity.modified,
                        placedAt: contents.version.identity.changed, isWhole: contents.publication != nil)
                }
            }
            var state = DomainState()
            state.equivalentKeys = domains[domain]?.equivalentKeys
            state.merge = Merge(base: contents.values, baseTime: time)
            (state.file, state.format) = (contents.version, contents.format)
            domains[domain] = state
            note(domain)
            return []
        case .unusable(let damage):
            let known = domains[domain]?.damage
            // The last good values stay in force, unless nobody knows who wrote them.
            var actions: [StoreAction] = []
            if damage.error.code == .untrusted, domains[domain]?.file != nil {
                actions = changeFile(of: domain, to: nil, at: now) { $0.removeFile(at: now) }
            }
            domains[domain, default: DomainState()].damage = damage
            domains[domain]?.isTroubled = true
            // Of the same bytes there is nothing new to tell, whatever was done to the file's times or mode.
            if let known, known.error == damage.error, known.version?.hash == damage.version?.hash { return actions }
            note(domain)
            return actions + post(.damaged(domain, reason: damage.error.description), at: now)
        }
    }

    /// Notes that a domain's file is gone, perhaps for a moment; the first time counts.
    mutating func doubt(_ domain: Domain, missingSince time: Timestamp) {
        guard domains[domain] != nil, domains[domain]?.missingSince == nil else { return }
        domains[domain]?.missingSince = time
    }

    /// Notes that a domain's file is out of sight with its directory.
    ///
    /// Edits that aren't saved stand if the file turns out to be gone: nobody knows which came first.
    mutating func loseSight(of domain: Domain, now: Timestamp) {
        guard let pending = domains[domain]?.merge.pending.values else { return }
        doubt(domain, missingSince: pending.map(\.time).reduce(now, min))
    }

    /// Takes what a replaced version of a domain's file turned out to hold.
    ///
    /// The total is that of the history before the publication that replaced it.
    mutating func takeDisplaced(
        _ contents: FileContents, of domain: Domain, loadedBefore total: Int, now: Timestamp
    ) -> [StoreAction] {
        change(domain, source: .file, at: now) {
            $0.merge.displace(
                contents.values, format: contents.format, changedAt: contents.time,
                loadedBefore: total)
        }
    }

    private mutating func changeFile(
        of domain: Domain, to version: FileVersion?, format: PropertyListFormat? = nil, at now: Timestamp,
        by merging: (inout Merge) -> Merge.Result
    ) -> [StoreAction] {
        change(domain, source: .file, at: now) { state in
            (state.file, state.earlierFile) = (version, nil)
            state.damage = nil
            if let format { state.format = format }
            defer { if state.merge.pending.isEmpty { state.failure = nil } }
            return merging(&state.merge)
        }
    }

    mutating func change(
        _ domain: Domain, source: Writer, at now: Timestamp, by merging: (inout DomainState) -> Merge.Result
    ) -> [StoreAction] {
        let result = merging(&domains[domain, default: DomainState()])
        let changeSet = ChangeSet(
            domain: domain, source: source, changes: result.changes, overruled: result.overruled)
        var actions = changeSet.isEmpty ? [] : post(.change(changeSet), at: now)
        note(domain)
        if domains[domain]?.merge.pending.isEmpty == false { actions.append(.publish(domain, .atOnce)) }
        return actions
    }

    // MARK: Editing

    /// Takes an app's edits; the result's revision is that of their record, or the log's head when nothing changed.
    mutating func edit(_ request: EditRequest, now: Timestamp) -> (revision: Revision, actions: [StoreAction]) {
        if let identity = request.identity {
            if ledger.holds(identity) { return (log.head, []) }
            ledger.note(identity)
        }
        lastSequence += 1
        var values = request.values
        var state = domains[request.domain] ?? DomainState()
        if request.replacesAll {
            for key in state.merge.current.keys where values[key] == nil { values[key] = .some(nil) }
        }
        // A conditional edit counts as made when its condition is found to hold, however long it waited.
        let time = request.expecting == nil ? min(request.time, now) : now
        if let former = request.replacing {
            values = state.merge.standing(values, setAt: time, replacing: former, readFrom: state.format)
        }
        let changes = state.merge.edit(values, time: time, writer: request.writer, sequence: lastSequence)
        if changes.isEmpty { return (log.head, []) }
        let isNew = domains[request.domain] == nil
        domains[request.domain] = consume state
        let changeSet = ChangeSet(
            domain: request.domain, source: request.writer, changes: changes, edit: request.identity)
        let actions = post(.change(changeSet), at: now)
        // The log's file is to know every domain, that this one has no file, too.
        if isNew { note(request.domain) }
        return (log.head, actions + [.publish(request.domain, .soon)])
    }

    /// The keys of an edit that had its values before, and whose saving nobody waits for.
    func unchanged(by request: EditRequest) -> [String] {
        guard let merge = domains[request.domain]?.merge else { return [] }
        return request.values.keys.filter {
            merge.pending[$0] == nil && request.values[$0] == .some(merge.current($0))
        }
    }

    /// Keeps an edit's values, which were in force already, against what has become of the file.
    mutating func keep(_ request: EditRequest, now: Timestamp) -> [StoreAction] {
        let keys = unchanged(by: request)
        if keys.isEmpty { return [] }
        lastSequence += 1
        for key in keys {
            domains[request.domain]?.merge.pending[key] = Edit(
                value: request.values[key] ?? nil, time: min(request.time, now), writer: request.writer,
                sequence: lastSequence)
        }
        note(request.domain)
        return [.publish(request.domain, .soon)]
    }

    /// Takes the values that were being written in place when that broke off: of a file that can't be taken, they are the last
    /// good ones.
    mutating func takeUnpublished(_ contents: FileContents, of domain: Domain, now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], state.damage != nil, state.file == nil else { return [] }
        return change(domain, source: .file, at: now) {
            $0.format = contents.format
            return $0.merge.reload(
                contents.values, format: contents.format, changedAt: contents.time, isWhole: true)
        }
    }

    /// Whether an edit has come so late that who sent it has done without its answer, while others have set or written the
    /// keys.
    ///
    /// An agent that was stopped for a while finds such edits in its sockets. What they set is in force already, by way of
    /// the files, or is asked for again with what it replaces.
    func isLate(_ request: EditRequest, now: Timestamp) -> Bool {
        guard let identity = request.identity, request.replacing == nil, request.expecting == nil,
            let state = domains[request.domain],
            request.time.nanoseconds < now.nanoseconds - Self.lateness, !ledger.holds(identity)
        else { return false }
        let standing = state.merge.standing(
            request.values, setAt: request.time, replacing: nil, readFrom: state.format)
        return standing.count < request.values.count
    }

    /// Why edits of a domain are refused at present: its file is damaged and may not be replaced.
    func refusal(of domain: Domain) -> DefaultsError? {
        guard let damage = domains[domain]?.damage, damage.isProtected else { return nil }
        return damage.refusal
    }

    /// Whether an edit is made on a condition that doesn't hold, and hasn't been made already.
    func isRefuted(_ request: EditRequest) -> Bool {
        guard let expected = request.expecting, !(request.identity.map(ledger.holds) ?? false) else { return false }
        let merge = domains[request.domain]?.merge ?? Merge()
        return expected.contains { key, value in merge.current(key) != value }
    }

    /// A little less than the time after which a client does without an answer, in nanoseconds.
    private static let lateness: Int64 = 4_000_000_000

    // MARK: Publishing

    /// What is to be published for a domain; `nil` when its file holds all of it, but for edits after a certain one.
    func plan(for domain: Domain, upTo sequence: UInt64 = .max) -> PublicationPlan? {
        guard let state = domains[domain], state.merge.pending.values.contains(where: { $0.sequence <= sequence })
        else { return nil }
        return PublicationPlan(
            edits: state.merge.pending, values: state.merge.current, format: state.format,
            expected: state.damage == nil ? state.file : state.damage?.version, damage: state.damage,
            losesEquivalentKeys: state.equivalentKeys != nil && state.equivalentKeys == state.file?.hash,
            revision: log.head, total: state.merge.history.total)
    }

    /// Notes, before it happens, that a file is about to be replaced: a crash may come before `published`.
    mutating func intend(_ plan: PublicationPlan, for domain: Domain, hash: ContentHash?) {
        let mark = FileMark(domain: domain, hash: hash, revision: plan.revision, isIntent: true)
        domains[domain]?.intent = mark
        outbox?.append(.mark(mark))
    }

    /// Takes that a plan has been carried out.
    mutating func published(
        _ plan: PublicationPlan, for domain: Domain, as version: FileVersion?, format: PropertyListFormat,
        now: Timestamp
    ) -> [StoreAction] {
        if outbox != nil, let expected = plan.expected {
            replaced[domain, default: []].append(
                FileMark(domain: domain, hash: expected.hash, revision: plan.revision, pending: plan.edits))
        }
        domains[domain, default: DomainState()].merge.publish(
            plan.edits, at: plan.newest ?? now, placedAt: version?.identity.changed ?? now)
        domains[domain]?.file = version
        domains[domain]?.earlierFile = nil
        domains[domain]?.format = format
        domains[domain]?.damage = nil
        domains[domain]?.failure = nil
        domains[domain]?.intent = nil
        note(domain)
        let recovery = tellRecovery(of: domain, at: now)
        return recovery + (domains[domain]?.merge.pending.isEmpty == false ? [.publish(domain, .soon)] : [])
    }

    /// Takes that a domain's edits couldn't be saved.
    mutating func failed(_ domain: Domain, _ error: DefaultsError, now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], !state.merge.pending.isEmpty, state.failure != error else { return [] }
        domains[domain]?.failure = error
        domains[domain]?.isTroubled = true
        note(domain)
        return post(.unsaved(domain, reason: error.description), at: now)
    }

    /// Tells that what was wrong with a domain is over, once it is.
    mutating func tellRecovery(of domain: Domain, at now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], state.isTroubled, state.damage == nil, state.failure == nil else {
            return []
        }
        domains[domain]?.isTroubled = false
        note(domain)
        return post(.recovered(domain), at: now)
    }

    // MARK: The log

    /// Begins another log, to which nothing stands that was noted of the one before.
    mutating func beginLog() {
        log = ChangeLog(capacity: log.capacity)
        firstHead = log.head
        replaced = [:]
        for domain in domains.keys { domains[domain]?.earlierVersions = [:] }
    }

    /// The marks of replaced versions, and after them those of each domain's file.
    func marks() -> [FileMark] {
        replaced.values.flatMap { $0.filter { $0.revision + 1 >= log.oldest } } + domains.keys.flatMap(marks)
    }

    /// Forgets replaced versions but for those with certain contents: nobody writes to the others any more.
    ///
    /// - Parameters:
    ///   - contents: what is still open, or was a moment ago.
    ///   - hasLeftovers: whether an earlier agent's versions may be, too.
    mutating func forgetReplaced(but contents: [Domain: Set<ContentHash>], hasLeftovers: Bool) {
        if replaced.isEmpty { return }
        replaced = replaced.compactMapValues { marks in
            let kept = marks.filter { mark in
                if hasLeftovers, mark.revision <= firstHead { return true }
                return mark.hash.map { contents[mark.domain]?.contains($0) ?? false } ?? false
            }
            return kept.isEmpty ? nil : kept
        }
    }

    /// How a domain's file stands to the log for certain, and a publication that may have happened besides.
    private func marks(of domain: Domain) -> [FileMark] {
        guard let state = domains[domain] else { return [] }
        let mark = FileMark(
            domain: domain, hash: state.hash, revision: log.head, pending: state.merge.pending,
            isTroubled: state.isTroubled)
        return [mark, state.intent].compactMap(\.self)
    }

    mutating func note(_ domain: Domain) {
        guard outbox != nil else { return }
        let marks = marks(of: domain)
        outbox?.append(contentsOf: marks.map { .mark($0) })
    }

    mutating func post(_ event: LogRecord.Event, at now: Timestamp) -> [StoreAction] {
        let record = log.append(event, at: now)
        outbox?.append(.record(record))
        if case .change = event { return [.announce(record.domain)] }
        return [.announce(record.domain), .tell(event)]
    }
}
