/// A domain as an earlier agent left it, reconstructed from its log, and compared with the file as it is now.
///
/// Pure, like `StoreState`, which applies it.
struct Recovery {
    /// The relation of the file to the versions in the log.
    enum Finding {
        /// The file, or its absence, is the version with this mark.
        case logged(FileMark)
        /// There was no file, so this one and everything in it is new.
        case new
        /// The file was written while no agent ran.
        case rewritten(FileContents)
        /// The file was removed while no agent ran.
        case removed
        /// The file's contents will be known later. Until then, every edit that it may lack is kept.
        case unreadable
    }

    let domain: Domain
    /// The file's current state.
    let reading: FileReading
    /// The domain's records in the log.
    private let records: [LogRecord]
    /// The marks of the domain's versions in the log; never empty.
    private let marks: [FileMark]
    /// The mark of the last version that the file certainly held.
    let certain: FileMark
    let finding: Finding
    /// The history up to the logged version that the file holds, or else to the last certain one.
    private let logged: LoggedHistory
    /// The marks of the versions that the history covers.
    let replaced: [FileMark]
    /// The positions of these versions in the history.
    private let versions: [ContentHash: Int]
    /// The edits that the version at the end of the history lacks.
    private(set) var unsaved: [String: Edit] = [:]
    /// The values that the version had for the keys of those edits that were made after it.
    private var overwritten: Difference = [:]
    /// The sequence number of the last edit.
    private(set) var lastSequence: UInt64

    /// Reconstructs a domain.
    ///
    /// - Parameters:
    ///   - domain: The domain.
    ///   - marks: The marks of its versions, in the order of the log.
    ///   - records: Its records, in the order of the log.
    ///   - oldest: The revision of the first record in the log, whatever its domain.
    ///   - reading: The file's current state.
    ///   - lastSequence: The last sequence number already given to an edit of another domain.
    init(
        of domain: Domain, marks: [FileMark], records: [LogRecord], since oldest: Revision, reading: FileReading,
        lastSequence: UInt64
    ) {
        (self.domain, self.reading, self.records, self.lastSequence) = (domain, reading, records, lastSequence)
        // The earlier agent knew every domain that had a file, so a domain without marks had none.
        let marks = marks.isEmpty ? [FileMark(domain: domain, hash: nil, revision: 0)] : marks
        self.marks = marks
        // The file holds the last certain version, or one of the versions whose save was announced after it.
        let possible = marks[(marks.lastIndex { !$0.isIntent } ?? marks.startIndex)...]
        let certain = possible[possible.startIndex]
        self.certain = certain
        finding = Self.find(reading, among: possible, certain: certain)
        let mark = if case .logged(let mark) = finding { mark } else { certain }
        logged = LoggedHistory(of: records.lazy.filter { $0.revision <= mark.revision }, in: domain)
        // If the history doesn't reach back to a mark, it says nothing about the mark's version.
        replaced = marks.filter { $0.hash != nil && $0.revision + 1 >= oldest }
        versions = logged.totals(of: replaced)
        findUnsavedEdits(since: mark)
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

    /// Finds the edits that the version with a mark lacks, and for those made after the mark, the values that they
    /// replaced.
    private mutating func findUnsavedEdits(since mark: FileMark) {
        unsaved = mark.pending
        lastSequence = unsaved.values.reduce(lastSequence) { max($0, $1.sequence) }
        for record in records where record.revision > mark.revision {
            guard case .change(let changeSet) = record.event, changeSet.domain == domain else { continue }
            for change in changeSet.changes {
                guard case .app = changeSet.source else {
                    unsaved[change.key] = nil
                    overwritten[change.key] = nil
                    continue
                }
                lastSequence += 1
                if unsaved[change.key] == nil { overwritten[change.key] = .some(change.old) }
                unsaved[change.key] = Edit(
                    value: change.new, time: record.time, writer: changeSet.source, sequence: lastSequence)
            }
        }
    }

    /// The identities of the edits in the log.
    var appliedEdits: [EditIdentity] {
        records.compactMap { if case .change(let changeSet) = $0.event { changeSet.edit } else { nil } }
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

    // MARK: The resumed state

    /// Returns the state of a rewritten domain before its file is merged: the last certain version, whose keys are
    /// known from the log's records, and the edits that it lacks.
    func state(before contents: FileContents) -> DomainState {
        let known = logged.values(without: certain.pending, replacing: overwritten)
        var state = DomainState()
        state.merge = Merge(base: contents.values, logged)
        for (key, value) in known { state.merge.base[key] = value }
        // If it isn't known what an edit was meant to replace, times alone decide.
        state.merge.pending = unsaved.filter { known[$0] != nil || $1.time >= contents.time }
        state.earlierVersions = versions
        return state
    }

    /// Returns whether the contents are byte-for-byte those of an earlier version.
    func isRestored(_ contents: FileContents) -> Bool { marks.contains { $0.hash == contents.version.hash } }

    /// Adds to a domain's state what only the log records, after the domain's file has been read for the first time.
    ///
    /// - Returns: Whether the file lacks edits, which are pending now.
    func complete(_ state: inout DomainState?) -> Bool {
        restoreEarlierFile(in: &state)
        let edits = unsaved(beside: state?.merge.base ?? [:])
        if case .contents(let contents) = reading { restoreHistory(of: contents, in: &state, hasEdits: !edits.isEmpty) }
        if !edits.isEmpty {
            state = state ?? DomainState()
            state?.merge.pending = edits
        }
        // The next agent, too, must know that the domain has no file. Otherwise, values that were once set would seem
        // unsaved.
        if case .missing = reading, state == nil, !records.isEmpty { state = DomainState() }
        return !edits.isEmpty
    }

    /// Restores the last version of an unreadable file from the log.
    ///
    /// Once the file can be read, only its differences from that version are changes.
    private func restoreEarlierFile(in state: inout DomainState?) {
        guard case .unreadable = finding, let hash = certain.hash else { return }
        let values = logged.values(without: certain.pending, replacing: overwritten)
        state = state ?? DomainState()
        state?.merge = Merge(base: values.compactMapValues(\.self), logged)
        state?.earlierVersions = versions
        state?.earlierFile = hash
    }

    /// Returns the edits that a file with certain values lacks.
    private func unsaved(beside base: DomainValues) -> [String: Edit] {
        isReadable ? unsaved.filter { $1.value != base[$0] } : unsaved
    }

    /// Restores the history that ends with the file's contents.
    private func restoreHistory(of contents: FileContents, in state: inout DomainState?, hasEdits: Bool) {
        var history = logged.history
        // A foreign writer doesn't know the pending edits, and may still have an older version loaded.
        if contents.saveMark == nil, hasEdits || history.count > 0 {
            history.append(back: [:], at: contents.time, isForeign: true)
        }
        state?.merge.history = history
        state?.merge.keyTimes = logged.keyTimes
        state?.earlierVersions = versions
    }
}

extension Merge {
    /// Creates a merge with the history of earlier versions in the log.
    fileprivate init(base: DomainValues, _ logged: LoggedHistory) {
        self.init(base: base, history: logged.history, baseTime: logged.time)
        keyTimes = logged.keyTimes
    }
}
