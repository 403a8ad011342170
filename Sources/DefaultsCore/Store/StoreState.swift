import Manifests
import PropertyList

/// The domains and the change log, and every transition between their states.
///
/// Pure: no I/O, no clock, no lock. Each transition returns the actions that it requires, and `Store` performs them
/// afterwards.
struct StoreState: LoggedState {
    var domains = DomainTable()
    var log: ChangeLog
    /// The entries that the log file lacks, in order; `nil` if they aren't collected.
    var outbox: [LogEntry]?
    var unrecorded: [UInt64: UInt64] = [:]
    /// The marks of displaced files whose writers may still be at work, for the next agent.
    var replaced: [Domain: [FileMark]] = [:]
    /// The domains of displaced files that a program had open for writing when they were last examined, or that are
    /// about to be examined for the first time.
    var openDisplaced: Set<Domain> = []
    /// Whether displaced files of an earlier agent may be left, whose writers may still be at work.
    var hasLeftovers = false
    /// The events of domains' problems that last, which earlier agents have published; none once there is a new one.
    private var reported: [Domain: Set<LogRecord.Event>] = [:]
    /// The head of the log when it was resumed.
    private let firstHead: Revision
    /// The sequence number of the last edit.
    var lastSequence: UInt64 = 0
    /// The time of the last transition, by the clock.
    private var latest = Timestamp(nanoseconds: .min)
    /// The manifests, in the agent.
    var manifests = ManifestSet.none
    /// The keys whose values the log's file may not hold; change them with `exclude`.
    private(set) var exclusions = HistoryExclusions()
    /// The edits that have been applied and must not be applied again.
    var appliedEdits = AppliedEdits()

    init(log: ChangeLog) {
        self.log = log
        firstHead = log.head
    }

    /// Notices if the clock has been set back: everything before then counts as no later than now.
    mutating func notice(_ now: Timestamp) {
        defer { latest = now }
        guard now < latest else { return }
        for domain in domains.inUse.keys { domains[domain]?.merge.limitTimes(to: now) }
    }

    // MARK: Parts of transitions

    /// Merges into a domain, publishes the changes, and requests a save if edits are pending afterwards.
    mutating func change(
        _ domain: Domain, source: Writer, at now: Timestamp, madeAt time: Timestamp,
        by merging: (inout DomainState) -> Merge.Result
    ) -> [StoreAction] {
        let result = merging(&domains[domain, default: DomainState()])
        let changeSet = ChangeSet(
            domain: domain, source: source, changes: result.changes, overruled: result.overruled)
        var actions = changeSet.isEmpty ? [] : publish(.change(changeSet), at: now, madeAt: time)
        recordMarks(of: domain)
        if domains[domain]?.merge.pending.isEmpty == false { actions.append(.save(domain, .immediate)) }
        return actions
    }

    /// Adds the current marks of a domain's file to the outbox.
    mutating func recordMarks(of domain: Domain) {
        guard outbox != nil else { return }
        let marks = domains[domain].map { self.marks(of: domain, in: $0) } ?? []
        outbox?.append(contentsOf: marks.map { .mark($0) })
    }

    /// Appends a record to the log and the outbox.
    mutating func publish(
        _ event: LogRecord.Event, at now: Timestamp, madeAt time: Timestamp? = nil
    ) -> [StoreAction] {
        // Otherwise, every start would add a problem that lasts to the log again.
        if reported[event.domain]?.contains(event) == true { return [.report(event)] }
        reported[event.domain] = nil
        let record = log.append(checked(event), at: now, madeAt: time)
        outbox?.append(.record(record))
        if case .change = event { return [.published(record.domain)] }
        return [.published(record.domain), .report(event)]
    }

    /// Returns an event with what its changes break in the domain's manifest.
    private func checked(_ event: LogRecord.Event) -> LogRecord.Event {
        guard case .change(var changeSet) = event, let entry = manifests.entry(for: changeSet.domain.name) else {
            return event
        }
        let keys = changeSet.changes.map(\.key)
        let values =
            entry.manifest.needsOthers(for: keys)
            ? domains[changeSet.domain]?.merge.current ?? [:]
            : Dictionary(changeSet.changes.map { ($0.key, $0.new) }) { $1 }.compactMapValues(\.self)
        changeSet.violations = entry.violations(of: keys, in: values)
        return .change(changeSet)
    }

    /// Records what earlier agents have published of a domain's problem.
    mutating func markReported(_ events: Set<LogRecord.Event>, of domain: Domain) {
        reported[domain] = events.isEmpty ? nil : events
    }

    // MARK: Marks

    /// Returns the marks of displaced files, followed by those of each domain's file.
    func marks() -> [LogEntry] {
        replaced.values.flatMap { $0.filter { $0.revision + 1 >= log.oldest } }.map { .mark($0) } + marks { _ in true }
    }

    /// Returns the marks of domains' files that an earlier agent's log file lacks.
    ///
    /// Entries just read from a file must not be appended to it again, or the file grows with every start.
    func marks(lackedBy earlier: RecoveredLog, _ published: [LogRecord]) -> [LogEntry] {
        var last: [Domain: Revision] = [:]
        for records in [earlier.records, published] { for record in records { last[record.domain] = record.revision } }
        return marks { !earlier.confirms($0, last: last[$0.domain]) }
    }

    private func marks(_ isWanted: (FileMark) -> Bool) -> [LogEntry] {
        func mark(of domain: Domain, hashed hash: ContentHash) -> FileMark {
            FileMark(domain: domain, hash: hash, revision: log.head)
        }
        let atRest = domains.hashesAtRest.filter { isWanted(mark(of: $0, hashed: $1)) }
        let others = domains.inUse.flatMap(marks).filter(isWanted) + atRest.filter { !$0.0.isUsual }.map(mark)
        return others.map { .mark($0) } + FileMarkGroup.groups(of: atRest, revision: log.head).map { .marks($0) }
    }

    /// Forgets the marks of displaced files that no program can be writing to anymore.
    ///
    /// - Parameters:
    ///   - contents: The hashes of the versions to remember, whose files are still open or were a moment ago.
    ///   - hasLeftovers: Whether displaced files of an earlier agent may also still be open.
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

    /// Returns the mark of a domain's file, and the mark of a save that may have happened since.
    private func marks(of domain: Domain, in state: DomainState) -> [FileMark] {
        var pending: [String: Edit] = [:]
        for (key, edit) in state.merge.pending {
            pending[key] = isLogged(edit, of: key, in: domain) ? edit : edit.former.first
        }
        let base = pending.isEmpty ? [:] : state.merge.base
        var mark = FileMark(
            domain: domain, hash: state.hash, revision: log.head, pending: pending,
            replaced: Difference(uniqueKeysWithValues: pending.keys.map { ($0, base[$0]) }),
            lost: state.lostChangeSets.filter { $0 >= log.oldest }
                .union(state.merge.pending.values.compactMap(\.lostWithAgent)),
            isMissing: !pending.isEmpty && state.missingSince != nil, unread: state.unread, isTroubled: state.isTroubled
        )
        // Of several edits of a key, the file may have the earlier ones.
        if mark.missing > 0, state.lostChangeSets.isEmpty { mark.complete = state.complete }
        guard case (var intent, let saved)? = state.intent else { return [mark] }
        // The log may have lost the records of edits made since the save began.
        intent.revision = log.head
        intent.pending = pending.filter { key, edit in saved[key].map { $0.sequence < edit.sequence } ?? true }
        let keys = intent.pending.keys
        intent.replaced = Difference(uniqueKeysWithValues: keys.map { ($0, saved[$0].map(\.value) ?? base[$0]) })
        intent.lost.formUnion(mark.lost.subtracting(saved.values.compactMap(\.lostWithAgent)))
        if intent.missing == 0 || !state.lostChangeSets.isEmpty { intent.complete = 0 }
        return [mark, intent]
    }

    /// The number of each session's last edit, except for edits that are lost with the agent.
    var sessions: [UInt64: UInt64] {
        var sessions = appliedEdits.numbers
        for state in domains.inUse.values {
            for revision in state.merge.pending.values.compactMap(\.lostWithAgent) {
                guard let edit = log[revision]?.changeSet?.edit, let last = sessions[edit.session] else { continue }
                sessions[edit.session] = min(last, max(edit.number, 1) - 1)
            }
        }
        return sessions.filter { $1 > 0 }
    }

    // MARK: Exclusions

    /// Sets the keys whose values the log's file may not hold from now on.
    ///
    /// The file has the pending edits of keys that weren't excluded before. They stay there until they are saved.
    mutating func exclude(_ new: HistoryExclusions) {
        for (domain, state) in domains.inUse {
            for (key, edit) in state.merge.pending
            where edit.inLog == .allowedPart && new.exclude(key, of: domain) && !exclusions.exclude(key, of: domain) {
                domains[domain]?.merge.pending[key]?.inLog = .all(log.lastChange(of: key, in: domain))
            }
        }
        replaced = replaced.mapValues { marks in
            marks.map { mark in
                var mark = mark
                for key in mark.pending.keys where new.exclude(key, of: mark.domain) {
                    mark.pending[key] = nil
                    mark.lost.insert(log.lastChange(of: key, in: mark.domain, through: mark.revision))
                }
                return mark
            }
        }
        exclusions = new
    }

    /// Whether the log's file holds pending edits of keys that have been excluded since.
    var hasExcludedEdits: Bool {
        domains.inUse.contains { domain, state in
            state.merge.pending.contains { $1.isHeld && exclusions.exclude($0, of: domain) }
        }
    }

    /// Returns whether the log's file holds a pending edit of a key, so that the next agent would restore it.
    func isLogged(_ edit: Edit, of key: String, in domain: Domain) -> Bool {
        switch edit.inLog {
        case .allowedPart: !exclusions.exclude(key, of: domain)
        case .all: true
        case .nothing: false
        }
    }

    // MARK: Snapshots

    /// Returns a domain's values in effect.
    func snapshot(of domain: Domain) -> DomainSnapshot {
        let state = domains[domain]
        return DomainSnapshot(
            domain: domain, values: state?.merge.storedCurrent ?? FileValues([:]), cursor: log.cursor,
            damage: state?.damage?.error.description)
    }

    /// Returns the values of all domains that have values or are damaged, in order.
    func snapshots() -> [DomainSnapshot] { snapshots(of: domains.keys) }

    /// Returns the values of one layer's domains that have values or are damaged, in order.
    func snapshots(of user: DomainUser) -> [DomainSnapshot] { snapshots(of: domains.keys.filter { $0.user == user }) }

    /// Returns the values of the domains with some names, in time independent of the number of other domains.
    func snapshots(ofNames names: Set<DomainName>) -> [DomainSnapshot] {
        snapshots(of: names.flatMap { domains.domains(named: $0) })
    }

    private func snapshots(of domains: some Collection<Domain>) -> [DomainSnapshot] {
        domains.sorted().compactMap { domain in
            let snapshot = snapshot(of: domain)
            return snapshot.isEmpty ? nil : snapshot
        }
    }
}
