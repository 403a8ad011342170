import PropertyList

/// The domains and the change log, and every transition between their states.
///
/// Pure: no I/O, no clock, no lock. A transition returns the actions that it requires, and `Store` performs them
/// afterwards.
struct StoreState {
    var domains = DomainTable()
    var log: ChangeLog
    /// The entries that the log's file lacks, in order; `nil` if the log has no file.
    var outbox: [ChangeLogFile.Entry]?
    /// The marks of displaced files whose writers may still be at work, for the next agent.
    var replaced: [Domain: [FileMark]] = [:]
    /// The head of the log when it was resumed.
    private var firstHead: Revision
    /// The sequence number of the last edit.
    var lastSequence: UInt64 = 0
    /// The edits that have been applied, and must not be applied again.
    var appliedEdits = AppliedEdits()

    init(log: ChangeLog) {
        self.log = log
        firstHead = log.head
    }

    // MARK: Reading files

    /// Applies the outcome of reading a domain's file.
    ///
    /// With `isBaseline`, the domain is seen for the first time, and its values aren't a change.
    mutating func apply(
        _ reading: FileReading, of domain: Domain, isBaseline: Bool, now: Timestamp
    ) -> [StoreAction] {
        applyReading(reading, of: domain, isBaseline: isBaseline, now: now) + reportRecovery(of: domain, at: now)
    }

    private mutating func applyReading(
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
            // The obstacle to saving is gone.
            return isMended ? [.save(domain, .immediate)] : []
        case .missing:
            guard let state = domains[domain], state.hash != nil || state.damage != nil else { return [] }
            // The file disappeared before its loss was confirmed; edits that were made since are later.
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
                    // A file that can't be written to is used as it is: nothing can be kept for its next version.
                    if domain.user != .current { $0.history = VersionHistory() }
                    if isUnseen {
                        // For a key that the log doesn't mention, only the edit is known to be a change.
                        for key in $0.pending.keys where $0.base[key] == nil { $0.base[key] = contents.values[key] }
                    }
                    return $0.reload(
                        contents.values, format: contents.format, changedAt: time,
                        writtenAt: contents.version.identity.modified,
                        placedAt: contents.version.identity.changed, isWhole: contents.saveMark != nil)
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
            // The last good values stay in force, unless it isn't known who wrote them.
            var actions: [StoreAction] = []
            if damage.error.code == .untrusted, domains[domain]?.file != nil {
                actions = changeFile(of: domain, to: nil, at: now) { $0.removeFile(at: now) }
            }
            domains[domain, default: DomainState()].damage = damage
            domains[domain]?.isTroubled = true
            // These bytes have already been reported, even if the file's times or mode have changed.
            if let known, known.error == damage.error, known.version?.hash == damage.version?.hash { return actions }
            note(domain)
            return actions + publish(.damaged(domain, reason: damage.error.description), at: now)
        }
    }

    /// Records that a domain's file is missing, perhaps for a moment; only the first time counts.
    mutating func noteMissing(_ domain: Domain, missingSince time: Timestamp) {
        guard domains[domain] != nil, domains[domain]?.missingSince == nil else { return }
        domains[domain]?.missingSince = time
    }

    /// Records that a domain's file is inaccessible because its directory is.
    ///
    /// If the file turns out to be gone, unsaved edits stand, since it isn't known which came first.
    mutating func noteUnreachable(of domain: Domain, now: Timestamp) {
        guard let pending = domains[domain]?.merge.pending.values else { return }
        noteMissing(domain, missingSince: pending.map(\.time).reduce(now, min))
    }

    /// Merges the contents of a displaced version of a domain's file.
    ///
    /// `total` is the history's total before the save that displaced it.
    mutating func applyDisplaced(
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
        var actions = changeSet.isEmpty ? [] : publish(.change(changeSet), at: now)
        note(domain)
        if domains[domain]?.merge.pending.isEmpty == false { actions.append(.save(domain, .immediate)) }
        return actions
    }

    // MARK: Editing

    /// Applies an app's edits; returns the revision of their record, or the log's head if nothing changed.
    mutating func edit(_ request: EditRequest, now: Timestamp) -> (revision: Revision, actions: [StoreAction]) {
        if let identity = request.identity {
            if appliedEdits.holds(identity) { return (log.head, []) }
            appliedEdits.note(identity)
        }
        lastSequence += 1
        var values = request.values
        var state = domains[request.domain] ?? DomainState()
        if request.replacesAll {
            for key in state.merge.current.keys where values[key] == nil { values[key] = .some(nil) }
        }
        // A conditional edit is made when its condition is found to hold, however long it was in transit.
        let time = request.expecting == nil ? min(request.time, now) : now
        if let former = request.replacing {
            values = state.merge.notOverruled(values, setAt: time, replacing: former, readFrom: state.format)
        }
        let changes = state.merge.edit(values, time: time, writer: request.writer, sequence: lastSequence)
        if changes.isEmpty { return (log.head, []) }
        let isNew = domains[request.domain] == nil
        domains[request.domain] = consume state
        let changeSet = ChangeSet(
            domain: request.domain, source: request.writer, changes: changes, edit: request.identity)
        let actions = publish(.change(changeSet), at: now)
        // The log's file must know every domain, even one without a file.
        if isNew { note(request.domain) }
        return (log.head, actions + [.save(request.domain, .delayed)])
    }

    /// Returns the keys of an edit that already had its values, and for which no save is pending.
    func unchanged(by request: EditRequest) -> [String] {
        guard let merge = domains[request.domain]?.merge else { return [] }
        return request.values.keys.filter {
            merge.pending[$0] == nil && request.values[$0] == .some(merge.current($0))
        }
    }

    /// Makes an edit's values pending, although they were in force already, since the file may have lost them.
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
        return [.save(request.domain, .delayed)]
    }

    /// Applies the values of a write in place that was interrupted: for a file that can't be used, they are the last
    /// good ones.
    mutating func applyUnsavedVersion(_ contents: FileContents, of domain: Domain, now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], state.damage != nil, state.file == nil else { return [] }
        return change(domain, source: .file, at: now) {
            $0.format = contents.format
            return $0.merge.reload(
                contents.values, format: contents.format, changedAt: contents.time, isWhole: true)
        }
    }

    /// Returns whether an edit came so late that its client no longer waits, while others have written the domain.
    ///
    /// More precisely, they have set some of its keys, or written the file. An agent that was stopped for a while finds
    /// such edits in its sockets. Their values are already in force, by way of the files, or are sent again together
    /// with the values that they replace.
    func isLate(_ request: EditRequest, now: Timestamp) -> Bool {
        guard let identity = request.identity, request.replacing == nil, request.expecting == nil,
            let state = domains[request.domain],
            request.time.nanoseconds < now.nanoseconds - Self.lateness, !appliedEdits.holds(identity)
        else { return false }
        let standing = state.merge.notOverruled(
            request.values, setAt: request.time, replacing: nil, readFrom: state.format)
        return standing.count < request.values.count
    }

    /// Returns the reason why edits of a domain are refused now: its file is damaged and may not be replaced.
    func refusal(of domain: Domain) -> DefaultsError? {
        guard let damage = domains[domain]?.damage, damage.isProtected else { return nil }
        return damage.refusal
    }

    /// Returns whether an edit has a condition that doesn't hold, and hasn't been applied already.
    func conditionFails(_ request: EditRequest) -> Bool {
        guard let expected = request.expecting, !(request.identity.map(appliedEdits.holds) ?? false) else {
            return false
        }
        let merge = domains[request.domain]?.merge ?? Merge()
        return expected.contains { key, value in merge.current(key) != value }
    }

    /// The age of a late edit, in nanoseconds: a little less than the time for which a client waits for an answer.
    private static let lateness: Int64 = 4_000_000_000

    // MARK: Saving

    /// Returns a plan for saving a domain; `nil` if its file holds all edits up to a certain one.
    func plan(for domain: Domain, upTo sequence: UInt64 = .max) -> SavePlan? {
        guard let state = domains[domain], state.merge.pending.values.contains(where: { $0.sequence <= sequence })
        else { return nil }
        return SavePlan(
            edits: state.merge.pending, values: state.merge.current, format: state.format,
            expected: state.damage == nil ? state.file : state.damage?.version, damage: state.damage,
            losesEquivalentKeys: state.equivalentKeys != nil && state.equivalentKeys == state.file?.hash,
            revision: log.head, total: state.merge.history.total)
    }

    /// Records that a file is about to be replaced, since a crash may come before `markSaved`.
    mutating func willSave(_ plan: SavePlan, for domain: Domain, hash: ContentHash?) {
        let mark = FileMark(domain: domain, hash: hash, revision: plan.revision, isIntent: true)
        domains[domain]?.intent = mark
        outbox?.append(.mark(mark))
    }

    /// Records that a plan has been carried out.
    mutating func markSaved(
        _ plan: SavePlan, for domain: Domain, as version: FileVersion?, format: PropertyListFormat,
        now: Timestamp
    ) -> [StoreAction] {
        if outbox != nil, let expected = plan.expected {
            replaced[domain, default: []].append(
                FileMark(domain: domain, hash: expected.hash, revision: plan.revision, pending: plan.edits))
        }
        domains[domain, default: DomainState()].merge.markSaved(
            plan.edits, at: plan.newest ?? now, placedAt: version?.identity.changed ?? now)
        domains[domain]?.file = version
        domains[domain]?.earlierFile = nil
        domains[domain]?.format = format
        domains[domain]?.damage = nil
        domains[domain]?.failure = nil
        domains[domain]?.intent = nil
        note(domain)
        let recovery = reportRecovery(of: domain, at: now)
        return recovery + (domains[domain]?.merge.pending.isEmpty == false ? [.save(domain, .delayed)] : [])
    }

    /// Records that a domain's edits couldn't be saved.
    mutating func failed(_ domain: Domain, _ error: DefaultsError, now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], !state.merge.pending.isEmpty, state.failure != error else { return [] }
        domains[domain]?.failure = error
        domains[domain]?.isTroubled = true
        note(domain)
        return publish(.unsaved(domain, reason: error.description), at: now)
    }

    /// Reports the recovery of a domain, once its problems are over.
    mutating func reportRecovery(of domain: Domain, at now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], state.isTroubled, state.damage == nil, state.failure == nil else {
            return []
        }
        domains[domain]?.isTroubled = false
        note(domain)
        return publish(.recovered(domain), at: now)
    }

    // MARK: The log

    /// Begins another log, to which no earlier marks apply.
    mutating func beginLog() {
        log = ChangeLog(capacity: log.capacity)
        firstHead = log.head
        replaced = [:]
        for domain in domains.keys { domains[domain]?.earlierVersions = [:] }
    }

    /// Returns the marks of displaced files, followed by those of each domain's file.
    func marks() -> [FileMark] {
        replaced.values.flatMap { $0.filter { $0.revision + 1 >= log.oldest } } + domains.keys.flatMap(marks)
    }

    /// Forgets displaced files, since no program is writing to them anymore, except those with certain contents.
    ///
    /// - Parameters:
    ///   - contents: the contents of those that are still open, or were a moment ago.
    ///   - hasLeftovers: whether an earlier agent's displaced files may still be open, too.
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

    /// Returns the mark of a domain's file, and that of a save that may have happened since.
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

    mutating func publish(_ event: LogRecord.Event, at now: Timestamp) -> [StoreAction] {
        let record = log.append(event, at: now)
        outbox?.append(.record(record))
        if case .change = event { return [.published(record.domain)] }
        return [.published(record.domain), .report(event)]
    }
}
