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
    /// The steps from each version to the next, in the order of the records.
    private var steps: [Step] = []

    private struct Step {
        var revision: Revision
        var keys: Set<String>
        var isForeign: Bool
        /// `versions.total` before the step.
        var total: Int
    }

    /// Reconstructs the versions of a domain's file from records, skipping those of other domains.
    init(of records: some Sequence<LogRecord>, in domain: Domain) {
        for record in records where record.domain == domain {
            if case .unknown(_, rest: nil) = record.event {
                steps.append(Step(revision: record.revision, keys: [], isForeign: true, total: versions.total))
                versions.appendUnseen(writtenAt: record.time)
            }
            guard let changeSet = record.changeSet else { continue }
            let isForeign = changeSet.source == .file
            var back: Difference = [:]
            var overruled: Difference = [:]
            for change in changeSet.changes {
                back[change.key] = .some(change.old)
                keyTimes[change.key] = record.time
            }
            for loser in changeSet.overruled where isForeign && loser.writer == .file && back[loser.key] == nil {
                guard let value = values[loser.key] else { continue }
                back[loser.key] = .some(value)
                overruled[loser.key] = .some(loser.value)
            }
            append(back, of: record, isForeign: isForeign)
            append(overruled, of: record, isForeign: false)
            for change in changeSet.changes { values[change.key] = .some(change.new) }
            time = record.time
        }
    }

    private mutating func append(_ back: Difference, of record: LogRecord, isForeign: Bool) {
        if !back.isEmpty {
            steps.append(
                Step(
                    revision: record.revision, keys: Set(back.keys), isForeign: isForeign, total: versions.total))
        }
        versions.append(back: back, at: record.time, writtenAt: isForeign ? record.time : nil)
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
    /// - Parameter marks: The marks of the versions in the log.
    /// - Returns: `versions.total` when each version was the newest, by hash.
    func totals(of marks: [FileMark]) -> [ContentHash: Int] {
        var nearest: [ContentHash: FileMark] = [:]
        for mark in marks {
            guard let hash = mark.hash else { continue }
            // Use the mark with the fewest edits missing from the version.
            if let known = nearest[hash], known.pending.count <= mark.pending.count { continue }
            nearest[hash] = mark
        }
        return nearest.mapValues(total)
    }

    /// Returns `versions.total` when a version was the newest.
    ///
    /// This is the total after all records up to the mark's revision, except for edits that the version lacked.
    private func total(of mark: FileMark) -> Int {
        // The steps are in the order of their revisions.
        var count = steps.countOfPrefix { $0.revision <= mark.revision }
        while count > 0, !steps[count - 1].isForeign,
            steps[count - 1].keys.allSatisfy({ mark.pending[$0] != nil })
        {
            count -= 1
        }
        return count < steps.count ? steps[count].total : versions.total
    }
}
