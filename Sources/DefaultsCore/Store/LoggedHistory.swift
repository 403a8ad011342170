import PropertyList

/// A domain's past as the log's records tell it: the versions of its file, one for each record, and its last values.
///
/// A version that a foreign writer wrote held the overruled values, too: a program that goes on from it writes them again.
struct LoggedHistory {
    private(set) var history = VersionHistory()
    /// The values in force at the end, of the keys that the records name.
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
        /// The history's total before it.
        var total: Int
    }

    /// Makes the history of a domain from records, of which those of other domains are skipped.
    init(of records: some Sequence<LogRecord>, in domain: Domain) {
        for record in records {
            guard case .change(let changeSet) = record.event, changeSet.domain == domain else { continue }
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
                    revision: record.revision, keys: Set(back.keys), isForeign: isForeign, total: history.total))
        }
        history.append(back: back, at: record.time, isForeign: isForeign)
    }

    /// The values of a file that lacked certain edits.
    ///
    /// - Parameters:
    ///   - pending: the edits; what their keys held isn't known.
    ///   - replaced: what later edits replaced, which the file did hold.
    /// - Returns: the values, as far as they are known; `nil` for a key that the file didn't have.
    func values(without pending: [String: Edit], replacing replaced: Difference) -> Difference {
        values.filter { pending[$0.key] == nil }.merging(replaced) { $1 }
    }

    /// Finds where versions stand in the history.
    ///
    /// - Parameter marks: how the versions stand to the log.
    /// - Returns: the history's total when they were the newest, by their contents.
    func totals(of marks: [FileMark]) -> [ContentHash: Int] {
        var nearest: [ContentHash: FileMark] = [:]
        for mark in marks {
            guard let hash = mark.hash else { continue }
            // The one that lists the fewest edits which the version didn't hold.
            if let known = nearest[hash], known.pending.count <= mark.pending.count { continue }
            nearest[hash] = mark
        }
        return nearest.mapValues(total)
    }

    /// The history's total when a version was the newest: after the records up to its mark's, but for the edits that the
    /// version didn't hold.
    private func total(of mark: FileMark) -> Int {
        // The steps are in the order of their revisions.
        var (count, end) = (0, steps.count)
        while count < end {
            let middle = (count + end) / 2
            if steps[middle].revision <= mark.revision { count = middle + 1 } else { end = middle }
        }
        while count > 0, !steps[count - 1].isForeign,
            steps[count - 1].keys.allSatisfy({ mark.pending[$0] != nil })
        {
            count -= 1
        }
        return count < steps.count ? steps[count].total : history.total
    }
}
