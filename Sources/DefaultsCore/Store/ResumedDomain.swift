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
    /// The marks of the domain's versions in the log; never empty.
    private let marks: [FileMark]
    /// The mark of the last version that was certainly in the file, or is assumed to have been.
    let certain: FileMark
    let finding: Finding
    /// The versions up to the logged version in the file, or else up to the last certain version.
    private let logged: LoggedVersions
    /// The marks of those versions.
    let replaced: [FileMark]
    /// The positions of the marked versions among all versions.
    private let positions: [ContentHash: Int]
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
    ///   - removed: The latest time at which a missing file can have been removed.
    ///   - lastSequence: The last sequence number given to an edit of any other domain.
    ///   - isOutdated: Whether the log continued without the file from which it was recovered.
    ///   - now: The current time. A later time in the log isn't believed: the clock was ahead.
    init(
        of domain: Domain, marks: [FileMark], records: [LogRecord], since oldest: Revision, reading: FileReading,
        removedBefore removed: Timestamp, lastSequence: UInt64, isOutdated: Bool = false, now: Timestamp
    ) {
        (self.domain, self.reading, self.records, self.lastSequence) = (domain, reading, records, lastSequence)
        // The earlier agent knew every domain that had a file, so a domain without marks had none.
        let marks = marks.isEmpty ? [FileMark(domain: domain, hash: nil, revision: 0)] : marks
        self.marks = marks
        // The file holds the last certain version, or a version whose save was announced afterwards.
        var possible = marks[(marks.lastIndex { !$0.isIntent && !$0.isReplaced } ?? marks.startIndex)...]
        let isTroubled = possible[possible.startIndex].isTroubled
        if Self.isLaterThanSave(reading, among: possible, given: records, removedBefore: removed) {
            possible = possible.suffix(1)
        }
        var certain = possible[possible.startIndex]
        certain.isTroubled = isTroubled
        self.certain = certain
        finding = Self.find(reading, among: possible, certain: certain)
        let mark = if case .logged(let mark) = finding { mark } else { certain }
        logged = LoggedVersions(of: records.lazy.filter { $0.revision <= mark.revision }, in: domain)
        // A log that doesn't reach back to a mark says nothing about the mark's version.
        replaced = marks.filter { $0.hash != nil && $0.revision + 1 >= oldest }
        positions = logged.totals(of: replaced)
        findUnsavedEdits(since: mark)
        limitTimes(to: now)
        // Edits may have been saved, and others made, after the log's end. So the times decide.
        if isOutdated, case .contents(let contents) = reading {
            unsaved = unsaved.filter { $1.time >= contents.time(of: $0) }
        }
        if case .removed = finding, !certain.isMissing {
            // Nobody removed a key that the file never had.
            let had = overwritten.merging(replacedBefore) { $1 }
            unsaved = unsaved.filter { $1.time >= removed || !isOutdated && had[$0] == .some(nil) }
        }
    }

    /// Returns whether the file's state is the one before the last announced save, but came about after the
    /// announcement.
    ///
    /// Then the save counts as done. Somebody has restored or removed the file since, and the later change wins.
    private static func isLaterThanSave(
        _ reading: FileReading, among possible: ArraySlice<FileMark>, given records: [LogRecord],
        removedBefore removed: Timestamp
    ) -> Bool {
        guard let announced = possible.last, announced.isIntent, let expected = announced.expected,
            let certain = possible.first, !certain.isMissing
        else { return false }
        switch reading {
        case .contents(let contents):
            let hash = contents.version.hash
            return possible.last { $0.hash == hash } == certain && contents.version.identity.stamp != expected
        case .missing:
            let last = records.last { $0.revision <= announced.revision }?.time ?? removed
            return possible.allSatisfy { $0.hash != nil } && last <= removed
        case .unchanged, .beingWritten, .unusable: return false
        }
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
    private mutating func findUnsavedEdits(since mark: FileMark) {
        // If only replaced versions are known, because the log is damaged, so are only the keys of their edits.
        (unsaved, replacedBefore) = (mark.isReplaced ? [:] : mark.pending, mark.replaced)
        lastSequence = unsaved.values.reduce(lastSequence) { max($0, $1.sequence) }
        for record in records where record.revision > mark.revision {
            guard let changeSet = record.changeSet, changeSet.domain == domain else { continue }
            // The log lacks a part of this edit, which is lost as a whole if it hasn't been saved.
            if case .unknown = record.event, case .app = changeSet.source { continue }
            for change in changeSet.changes {
                guard case .app = changeSet.source else {
                    unsaved[change.key] = nil
                    overwritten[change.key] = nil
                    replacedBefore[change.key] = nil
                    continue
                }
                lastSequence += 1
                if unsaved[change.key] == nil { overwritten[change.key] = .some(change.old) }
                unsaved[change.key] = Edit(
                    value: change.new, time: record.time, writer: changeSet.source, sequence: lastSequence)
            }
        }
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
    var appliedEdits: [EditIdentity] {
        records.compactMap { $0.changeSet?.edit }
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
        // If the file was created anew, nobody removed from it what it never had.
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
        // that were once set for unsaved edits.
        if case .missing = reading, state == nil, !records.isEmpty { state = DomainState() }
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
        // The log has the agent's times, but the next file is compared with this one by the file system's. A foreign
        // writer doesn't know about pending edits, and may still have an older version loaded.
        let written = contents.saveMark == nil ? contents.evidence.written : nil
        if hasEdits || versions.count > 0 {
            versions.append(back: [:], at: contents.version.identity.changed, writtenAt: written)
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
