import PropertyList

/// The versions of a domain's file, reconstructed from the log's records: one for each record, and the last values.
///
/// A foreign writer's version also held the values that were overruled, and a program that continues from that version
/// writes them again.
struct LoggedVersions {
    private(set) var versions = FileVersions()
    /// The values in effect after the last record, for the keys in the records.
    private(set) var values: Difference = [:]
    /// The times at which those keys were last set or removed.
    private(set) var keyTimes: [String: Timestamp] = [:]
    /// The time of the last record.
    private(set) var time = Timestamp(nanoseconds: .min)
    /// The steps from each version to the next.
    private var steps: [Step] = []
    /// The revisions of the first edits of the keys in the steps.
    private var firstEdits: [String: Revision] = [:]
    /// The steps whose edits the log holds only in part.
    private var partialSteps: [Step] = []

    private struct Step {
        var revision: Revision
        /// The highest revision of all steps up to this one.
        var reached: Revision = 0
        var keys: Set<String>
        var isForeign: Bool
        /// The keys whose values the log doesn't hold.
        var excluded: [ExcludedKeys] = []
        /// Whether the step is an app's edit of such keys.
        var isPartlyLogged = false
        /// `versions.total` before the step.
        var total: Int
    }

    /// Reconstructs the versions of a domain's file from its records, and from the marks of some versions.
    init(of records: [LogRecord], marks: [FileMark]) {
        let excluded = ExcludedNames(in: records)
        for record in Self.inOrder(records, marks) {
            if case .unknown(_, rest: nil) = record.event {
                add(Step(revision: record.revision, keys: [], isForeign: true, total: versions.total))
                versions.appendUnseen(writtenAt: record.time)
            }
            guard let changeSet = record.changeSet else { continue }
            let isForeign = changeSet.source == .file
            var back: Difference = [:]
            var overruled: Difference = [:]
            for change in changeSet.changes {
                back[change.key] = .some(change.old)
                keyTimes[change.key] = record.changeTime
            }
            for loser in changeSet.overruled where isForeign && loser.writer == .file && back[loser.key] == nil {
                guard let value = values[loser.key] else { continue }
                back[loser.key] = .some(value)
                overruled[loser.key] = .some(loser.value)
            }
            append(back, excluding: changeSet.excluded, of: record, isForeign: isForeign)
            append(overruled, of: record, isForeign: false)
            for change in changeSet.changes { values[change.key] = .some(change.new) }
            for key in excluded.names(of: changeSet.excluded) { values[key] = nil }
            time = max(time, record.time)
        }
    }

    /// Returns the records in the order in which the file got their changes: an edit that wasn't saved before a foreign
    /// version comes after that.
    private static func inOrder(_ records: [LogRecord], _ marks: [FileMark]) -> [LogRecord] {
        var lacking: [Revision: FileMark] = [:]
        for mark in marks where !mark.isIntent && !mark.pending.isEmpty { lacking[mark.revision] = mark }
        if lacking.isEmpty { return records }
        var ordered: [LogRecord] = []
        for record in records {
            var index = ordered.count
            if record.changeSet?.source == .file, let mark = lacking[record.revision] {
                while index > 0, ordered[index - 1].revision > mark.complete, lacks(ordered[index - 1], mark) {
                    index -= 1
                }
            }
            ordered.insert(record, at: index)
        }
        return ordered
    }

    /// Returns whether a marked version lacks the edit of a record before the mark, as a whole.
    private static func lacks(_ record: LogRecord, _ mark: FileMark) -> Bool {
        guard let changeSet = record.changeSet, changeSet.source != .file, changeSet.excluded.isEmpty else {
            return false
        }
        return changeSet.changes.allSatisfy { mark.pending[$0.key] != nil }
    }

    private mutating func append(
        _ back: Difference, excluding excluded: [ExcludedKeys] = [], of record: LogRecord, isForeign: Bool
    ) {
        if !back.isEmpty || !excluded.isEmpty {
            add(
                Step(
                    revision: record.revision, keys: Set(back.keys), isForeign: isForeign,
                    excluded: excluded, isPartlyLogged: record.isPartlyLogged, total: versions.total))
        }
        versions.append(
            back: back, at: max(time, record.time), writtenAt: isForeign ? record.time : nil, excluded: excluded)
    }

    private mutating func add(_ step: Step) {
        var step = step
        step.reached = max(step.revision, steps.last?.reached ?? 0)
        steps.append(step)
        if step.isForeign { return }
        for key in step.keys { firstEdits[key] = min(firstEdits[key] ?? .max, step.revision) }
        if !step.excluded.isEmpty { partialSteps.append(step) }
    }

    /// Sets the hashes of the versions, and which of them were replaced unread.
    mutating func setHashes(_ positions: [ContentHash: Int?], newest: ContentHash?, unread: Set<ContentHash>) {
        versions.setHashes(positions.compactMapValues(\.self), unread: unread)
        versions.newestHash = newest
    }

    /// Returns the values of a file that lacked certain edits.
    ///
    /// - Parameters:
    ///   - pending: The edits that the file lacked, by key; the values that those keys had in the file are unknown.
    ///   - replaced: The values that later edits replaced, which were in the file.
    /// - Returns: The file's values, where known; `nil` for a key that it didn't have.
    func values(without pending: [String: Edit], replacing replaced: Difference) -> Difference {
        values.filter { pending[$0.key] == nil }.merging(replaced) { $1 }
    }

    /// Finds the positions of marked versions among all versions.
    ///
    /// - Parameters:
    ///   - marks: The marks of the versions in the log.
    ///   - oldest: The revision of the first record in the log, of any domain.
    /// - Returns: `versions.total` when each version was the newest, by hash; `nil` for one from which the records
    ///   don't tell the next ones.
    func totals(of marks: [FileMark], since oldest: Revision) -> [ContentHash: Int?] {
        var nearest: [ContentHash: FileMark] = [:]
        for mark in marks {
            guard let hash = mark.hash else { continue }
            // Use the mark with the fewest edits missing from the version, and the last time that it was the newest.
            if let known = nearest[hash], known.missing < mark.missing { continue }
            nearest[hash] = mark
        }
        return nearest.mapValues { reachesBack(to: $0, since: oldest) ? total(of: $0) : nil }
    }

    /// Returns whether the records tell a version from the next ones: those of all edits that it lacked are there.
    private func reachesBack(to mark: FileMark, since oldest: Revision) -> Bool {
        if !mark.isCovered(since: oldest) { return false }
        return mark.pending.keys.allSatisfy { key in
            firstEdits[key].map { $0 <= mark.revision } == true
                || partialSteps.contains { $0.revision <= mark.revision && $0.excluded.contain(key) }
        }
    }

    /// Returns `versions.total` when a version was the newest.
    ///
    /// This is the total after all records up to the mark's revision, except for edits that the version lacked.
    private func total(of mark: FileMark) -> Int {
        var count = steps.countOfPrefix { $0.reached <= mark.revision }
        while count > 0, steps[count - 1].revision > mark.complete, lacks(steps[count - 1], mark) { count -= 1 }
        return count < steps.count ? steps[count].total : versions.total
    }

    /// Returns whether a marked version lacks the edit of a step before the mark.
    private func lacks(_ step: Step, _ mark: FileMark) -> Bool {
        if mark.lost.contains(step.revision) { return true }
        if step.isPartlyLogged { return mark.pending.keys.contains { step.excluded.contain($0) } }
        return !step.isForeign && step.keys.allSatisfy { mark.pending[$0] != nil }
    }
}

/// The names of excluded keys, as far as the same log has them, from before they were excluded or after.
private struct ExcludedNames {
    /// The names by salt and hash.
    private var names: [UInt64: [UInt64: String]] = [:]

    init(in records: [LogRecord]) {
        let salts = Set(records.flatMap { $0.changeSet?.excluded.map(\.salt) ?? [] })
        if salts.isEmpty { return }
        let keys = Set(records.flatMap { $0.changeSet?.changes.map(\.key) ?? [] })
        for salt in salts {
            names[salt] = Dictionary(keys.map { (ExcludedKeys.hash(of: $0, salt: salt), $0) }) { first, _ in first }
        }
    }

    func names(of excluded: [ExcludedKeys]) -> [String] {
        excluded.flatMap { keys in keys.hashes.compactMap { names[keys.salt]?[$0] } }
    }
}
