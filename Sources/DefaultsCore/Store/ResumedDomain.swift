import PropertyList

/// A domain as an earlier agent left it, reconstructed from the log and compared with the current file.
///
/// Pure, like `StoreState`, which applies the result.
struct ResumedDomain {
    /// The relation of the file to the versions in the log.
    enum Finding {
        /// The file, or its absence, is the version with this mark.
        case logged(FileMark)
        /// There was no file before, so this one and everything in it is new.
        case new
        /// The file was written while no agent ran.
        case rewritten(FileContents)
        /// The file was removed while no agent ran.
        case removed
        /// The file can't be read yet. Until it can, every edit that it may lack stays pending.
        case unreadable
    }

    let domain: Domain
    /// The file's current state.
    let reading: FileReading
    /// The domain's records in the log.
    private let records: [LogRecord]
    /// The revisions of change sets in these records that earlier agents lost, since the log has only a part of them.
    let lostChangeSets: Set<Revision>
    /// The marks of the domain's versions in the log; never empty.
    private let marks: [FileMark]
    /// The mark of the last version that was certainly in the file, or is assumed to have been.
    let certain: FileMark
    private(set) var finding: Finding
    /// The versions up to the logged version in the file, or else up to the last certain version.
    private var logged: LoggedVersions
    /// The marks of those versions.
    let replaced: [FileMark]
    /// The positions of the marked versions among all versions.
    private let positions: [ContentHash: Int?]
    /// The edits missing from the last of these versions.
    private(set) var unsaved: [String: Edit] = [:]
    /// The values that were in that version and that later edits replaced.
    private var overwritten: Difference = [:]
    /// The values that were in that version and that edits made before the mark will replace, as far as they are known.
    private var replacedBefore: Difference = [:]
    /// The sequence number of the last edit.
    private(set) var lastSequence: UInt64

    /// Reconstructs a domain.
    ///
    /// - Parameters:
    ///   - domain: The domain to reconstruct.
    ///   - marks: The marks of the domain's versions, in log order.
    ///   - records: The domain's records, in log order.
    ///   - oldest: The revision of the first record in the log, of any domain.
    ///   - reading: The file's current state.
    ///   - isSaveMade: Whether the last announced save was made; `nil` if that isn't known.
    ///   - removed: The latest time at which a missing file can have been removed.
    ///   - lastSequence: The last sequence number given to an edit of any other domain.
    ///   - isOutdated: Whether the log continued without the file from which it was recovered.
    ///   - now: The current time. A later time in the log isn't believed: the clock was ahead.
    init(
        of domain: Domain, marks: [FileMark], records: [LogRecord], since oldest: Revision, reading: FileReading,
        isSaveMade: Bool? = nil, removedBefore removed: Timestamp, lastSequence: UInt64, isOutdated: Bool = false,
        now: Timestamp
    ) {
        (self.domain, self.reading, self.records, self.lastSequence) = (domain, reading, records, lastSequence)
        // The earlier agent knew every domain that had a file, so a domain without marks had none.
        let marks = marks.isEmpty ? [FileMark(domain: domain, hash: nil, revision: 0)] : marks
        self.marks = marks
        // The file holds the last certain version, or a version whose save was announced afterwards.
        var possible = marks[(marks.lastIndex { !$0.isIntent && !$0.isReplaced } ?? marks.startIndex)...]
        let isTroubled = possible[possible.startIndex].isTroubled
        // The file had that version, even if it was changed later.
        if isSaveMade ?? Self.holdsAnnouncedValues(reading, among: possible, records) {
            possible = possible.suffix(1)
        }
        var certain = possible[possible.startIndex]
        certain.isTroubled = isTroubled
        self.certain = certain
        var finding = Self.find(reading, among: possible, certain: certain)
        let mark = if case .logged(let mark) = finding { mark } else { certain }
        lostChangeSets = mark.lost.union(
            records.lazy.filter { $0.revision > mark.revision && $0.isPartlyLogged }.map(\.revision))
        let history = records.without(lostChangeSets)
        logged = LoggedVersions(of: history.filter { $0.revision <= mark.revision }, marks: marks)
        // A log that doesn't reach back to a mark says nothing about the mark's version.
        replaced = marks.filter { $0.hash != nil && $0.isCovered(since: oldest) }
        positions = logged.totals(of: marks, since: oldest)
        logged.setHashes(positions, newest: mark.hash, unread: marks.unreadVersions)
        if case .rewritten(var contents) = finding {
            contents.removeTimes(ifPutBackAmong: logged.versions)
            finding = .rewritten(contents)
        }
        self.finding = finding
        findUnsavedEdits(since: mark, in: history)
        if case .logged = finding, case .contents(let contents) = reading, let mark = contents.saveMark,
            unsaved.contains(where: { key, edit in
                mark.sessions.include(edit)
                    || mark.times?.haveChange(
                        to: key, after: max(edit.time, logged.keyTimes[key] ?? edit.time), until: now) ?? false
            })
        {
            // Another store has made these edits, and later ones, with the values of that version as the outcome.
            self.finding = .rewritten(contents)
        }
        limitTimes(to: now)
        // Edits may have been saved, and others made, after the log's end. So the times decide.
        if isOutdated, case .contents(var contents) = reading {
            contents.removeTimes(ifPutBackAmong: logged.versions)
            unsaved = unsaved.filter { $1.time >= contents.time(of: $0) }
        }
        if case .removed = finding, !certain.isMissing {
            // No writer removed a key that the file never had.
            let had = overwritten.merging(replacedBefore) { $1 }
            unsaved = unsaved.filter { $1.time >= removed || !isOutdated && had[$0] == .some(nil) }
        }
    }

    /// Returns whether a file that a foreign writer wrote has the values of the last announced save, so that the writer
    /// had loaded that version.
    ///
    /// Other programs may have set some of these values, or restored some of the earlier ones. So more of them must be
    /// the new values than the earlier ones.
    private static func holdsAnnouncedValues(
        _ reading: FileReading, among possible: ArraySlice<FileMark>, _ records: [LogRecord]
    ) -> Bool {
        guard case .contents(let contents) = reading, let certain = possible.first, let announced = possible.last,
            announced.isIntent, announced.hash != nil, !possible.contains(where: { $0.hash == contents.version.hash })
        else { return false }
        var changes: [String: (old: PropertyListValue??, new: PropertyListValue?)] = [:]
        for (key, edit) in certain.pending { changes[key] = (certain.replaced[key], edit.value) }
        for record in records where record.revision > certain.revision && record.revision <= announced.revision {
            for change in record.changeSet?.changes ?? [] {
                changes[change.key] = (changes[change.key]?.old ?? .some(change.old), change.new)
            }
        }
        // The edits that the save doesn't have came later.
        for (key, value) in announced.replaced { changes[key]?.new = value }
        let values = contents.values
        func count(_ value: (PropertyListValue??, PropertyListValue?) -> PropertyListValue??) -> Int {
            changes.count { key, change in
                value(change.old, change.new).map {
                    PropertyListValue.areSame($0, values[key], readFrom: contents.format)
                } ?? false
            }
        }
        return count { $1 } > count { old, _ in old }
    }

    private static func find(
        _ reading: FileReading, among possible: ArraySlice<FileMark>, certain: FileMark
    ) -> Finding {
        switch reading {
        case .contents(let contents):
            if let mark = possible.last(where: { $0.hash == contents.version.hash }) { return .logged(mark) }
            return certain.hash == nil ? .new : .rewritten(contents)
        case .missing: return possible.last { $0.hash == nil }.map { .logged($0) } ?? .removed
        case .unchanged, .beingWritten, .unusable: return .unreadable
        }
    }

    /// Finds the edits missing from the version with a mark, and the values replaced by edits made after the mark.
    private mutating func findUnsavedEdits(since mark: FileMark, in history: [LogRecord]) {
        // If only replaced versions are known, because the log is damaged, so are only the keys of their edits.
        (unsaved, replacedBefore) = (mark.isReplaced ? [:] : mark.pending, mark.replaced)
        lastSequence = unsaved.values.reduce(lastSequence) { max($0, $1.sequence) }
        for record in history where record.revision > mark.revision {
            guard let changeSet = record.changeSet else { continue }
            for key in unsaved.keys where changeSet.excluded.contain(key) { forget(key) }
            for change in changeSet.changes {
                guard case .app = changeSet.source else {
                    forget(change.key)
                    continue
                }
                lastSequence += 1
                if unsaved[change.key] == nil { overwritten[change.key] = .some(change.old) }
                unsaved[change.key] = Edit(
                    value: change.new, time: record.changeTime, writer: changeSet.source, sequence: lastSequence,
                    identity: changeSet.edit)
            }
        }
    }

    /// Forgets the edit of a key that a foreign writer changed later.
    private mutating func forget(_ key: String) {
        unsaved[key] = nil
        overwritten[key] = nil
        replacedBefore[key] = nil
    }

    /// Limits the times of edits that were made while the clock was ahead.
    ///
    /// The earlier agent saw every change to the file before the log's end, so a change that it didn't see is newer.
    private mutating func limitTimes(to now: Timestamp) {
        var limit = now
        if case .rewritten(let contents) = finding { limit = min(now, contents.time.predecessor) }
        for (key, edit) in unsaved where edit.time > now { unsaved[key]?.time = limit }
    }

    /// The identities of the edits in the log.
    ///
    /// A lost edit isn't among them, so that it is applied if the client sends it again.
    var appliedEdits: [EditIdentity] {
        records.compactMap { lostChangeSets.contains($0.revision) ? nil : $0.changeSet?.edit }
    }

    /// The changes from what the history says of change sets that were lost to the values before them; `nil` if no
    /// change set was lost, or an earlier agent has published them.
    var reversalOfLostChanges: ChangeSet? {
        let reversal = records.last { $0.changeSet?.source == .agent }?.revision ?? 0
        let lost = lostChangeSets.filter { $0 > reversal }
        if lost.isEmpty { return nil }
        var reversed: [String: KeyChange] = [:]
        for record in records {
            for change in record.changeSet?.changes ?? [] {
                var reversal: KeyChange?
                if lost.contains(record.revision) {
                    reversal = reversed[change.key] ?? KeyChange(key: change.key, old: nil, new: change.old)
                    reversal?.old = change.new
                }
                reversed[change.key] = reversal
            }
        }
        return ChangeSet(domain: domain, source: .agent, changes: reversed.values.filter { $0.old != $0.new })
    }

    /// The revision of a record up to which the file, or an earlier version of it, has all changes; 0 if that isn't
    /// known.
    var complete: Revision {
        let mark = if case .logged(let mark) = finding { mark } else { certain }
        return mark.missing == 0 ? mark.revision : mark.complete
    }

    /// Whether the file's contents are known.
    var isReadable: Bool { if case .unreadable = finding { false } else { true } }

    /// Whether the log explains the file's state.
    var isExplained: Bool {
        switch finding {
        case .logged, .new: true
        case .rewritten, .removed, .unreadable: false
        }
    }

    /// The events of a problem that lasts, which earlier agents have published since the last change.
    var reported: Set<LogRecord.Event> {
        let events = Set(
            records.reversed().lazy.map(\.event).prefix {
                switch $0 {
                case .damaged, .unsaved, .unknown(_, rest: nil): true
                case .change, .recovered, .unknown: false
                }
            })
        // The values became unknown with the damage, so they do again if it is another one.
        if case .unusable(let damage) = reading,
            events.contains(.damaged(domain, reason: damage.error.description))
        {
            return events
        }
        return events.filter { if case .unsaved = $0 { true } else { false } }
    }

    // MARK: The resumed state

    /// Returns the state of a rewritten domain before its file is merged: the last certain version, as far as the log's
    /// records tell, and the edits that it lacks.
    func state(before contents: FileContents) -> DomainState {
        let known = known
        var state = DomainState()
        state.merge = Merge(base: contents.values, logged)
        for (key, value) in known { state.merge.base[key] = value }
        let values = contents.values
        // If the file was created anew, no writer removed keys that it never had.
        let added = certain.isMissing ? Set(unsaved.keys.filter { values[$0] == nil }) : []
        for key in added { state.merge.base[key] = nil }
        // If the value that an edit was meant to replace is unknown, only the times decide.
        state.merge.pending = unsaved.filter {
            added.contains($0) || known[$0] != nil || $1.time >= contents.time(of: $0)
        }
        state.earlierVersions = positions
        return state
    }

    /// Returns the state of a removed domain before the loss of its file is merged: the last certain version, as far as
    /// the log's records tell, and the edits that it lacks.
    func stateBeforeLoss() -> DomainState {
        var state = DomainState()
        state.merge = Merge(base: known.compactMapValues(\.self), logged)
        state.merge.pending = unsaved
        state.earlierVersions = positions
        return state
    }

    /// The earliest time at which the file may have been removed.
    ///
    /// Unsaved edits stand, since they may have been made after the loss, and so do edits that arrive later.
    var earliestLoss: Timestamp { unsaved.values.map(\.time).reduce(logged.time, min) }

    /// The values of the last certain version that are in the log's records.
    private var known: Difference {
        logged.values(without: certain.pending, replacing: overwritten.merging(replacedBefore) { $1 })
    }

    /// Returns whether the contents are byte-for-byte those of an earlier version.
    func isRestored(_ contents: FileContents) -> Bool { marks.contains { $0.hash == contents.version.hash } }

    /// Completes a domain's state from the log, after the first reading of the domain's file.
    ///
    /// - Returns: Whether the file lacks edits, which are pending now.
    func complete(_ state: inout DomainState?) -> Bool {
        restoreUnseenVersion(in: &state)
        let edits = unsaved(beside: state?.merge.base ?? [:])
        if case .contents(let contents) = reading {
            restoreVersions(of: contents, in: &state, hasEdits: !edits.isEmpty)
        }
        if !edits.isEmpty {
            state = state ?? DomainState()
            state?.merge.pending = edits
        }
        // Keep a state, so that the next agent also knows that the domain has no file. Otherwise, it would take values
        // that were once set for unsaved edits. A displaced file may still have to be merged.
        if case .missing = reading, state != nil || !records.isEmpty {
            state = state ?? DomainState()
            state?.merge = Merge(base: [:], logged)
            state?.merge.pending = edits
            state?.earlierVersions = positions
        }
        return !edits.isEmpty
    }

    /// Restores the last version of an unreadable file from the log.
    ///
    /// Once the file can be read, only its differences from that version are changes.
    private func restoreUnseenVersion(in state: inout DomainState?) {
        guard case .unreadable = finding, let hash = certain.hash else { return }
        let values = logged.values(without: certain.pending, replacing: overwritten)
        state = state ?? DomainState()
        state?.merge = Merge(base: values.compactMapValues(\.self), logged)
        state?.earlierVersions = positions
        state?.setUnseen(hash)
    }

    /// Returns the edits missing from a file with the given values.
    private func unsaved(beside base: DomainValues) -> [String: Edit] {
        isReadable ? unsaved.filter { $1.value != base[$0] } : unsaved
    }

    /// Restores the versions that end with the file's contents.
    private func restoreVersions(of contents: FileContents, in state: inout DomainState?, hasEdits: Bool) {
        var versions = logged.versions
        versions.newestHash = contents.version.hash
        // The log has the agent's times, but the next file is compared with this one by the file system's. A foreign
        // writer doesn't know about pending edits, and may still have an older version loaded.
        let written = contents.saveMark == nil ? contents.evidence.written : nil
        if hasEdits || versions.count > 0 {
            versions.append(
                back: [:], at: contents.version.identity.changed, writtenAt: written, hash: contents.version.hash)
        }
        state?.merge.versions = versions
        state?.merge.keyTimes = logged.keyTimes
        state?.earlierVersions = positions
    }
}

extension Merge {
    /// Creates a merge with the earlier versions in the log.
    fileprivate init(base: DomainValues, _ logged: LoggedVersions) {
        self.init(base: base, versions: logged.versions, baseTime: logged.time)
        keyTimes = logged.keyTimes
    }
}

extension [LogRecord] {
    /// Returns the records without some change sets that were lost, and without the agent's reports of that: their
    /// values were never in a file.
    fileprivate func without(_ lost: Set<Revision>) -> [LogRecord] {
        if lost.isEmpty, !contains(where: { $0.changeSet?.source == .agent }) { return self }
        /// The values before the lost changes, for the next change of each key.
        var former: [String: PropertyListValue?] = [:]
        return compactMap { record in
            guard var changeSet = record.changeSet else { return record }
            if lost.contains(record.revision) {
                for change in changeSet.changes where former[change.key] == nil {
                    former[change.key] = .some(change.old)
                }
                return nil
            }
            for index in changeSet.changes.indices {
                guard let old = former.removeValue(forKey: changeSet.changes[index].key) else { continue }
                changeSet.changes[index].old = old
            }
            // A log may have forgotten that the changes that an agent reversed were lost.
            if changeSet.source == .agent {
                changeSet.changes.removeAll { $0.old == $0.new }
                if changeSet.changes.isEmpty { return nil }
            }
            var record = record
            record.changeSet = changeSet
            return record
        }
    }
}
