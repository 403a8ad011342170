import PropertyList

/// The versions of a domain's file that log records tell of, each as it was when its record was made.
///
/// A version that a foreign writer wrote held what was overruled, too: a program that goes on from it writes that again.
struct LoggedHistory {
    private(set) var history = VersionHistory()
    /// When keys were last set or removed.
    private(set) var keyTimes: [String: Timestamp] = [:]
    /// What led from each version to the next, in the order of the records.
    private var steps: [Step] = []

    private struct Step {
        var revision: Revision
        var keys: Set<String>
        var isForeign: Bool
        /// The history's total before it.
        var total: Int
    }

    /// Creates the history that the records of a domain tell of; those of others are passed over.
    init(of records: some Sequence<LogRecord>, in domain: Domain) {
        // What was in force, as far as the records tell.
        var current: Difference = [:]
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
                guard let value = current[loser.key] else { continue }
                back[loser.key] = .some(value)
                overruled[loser.key] = .some(loser.value)
            }
            append(back, of: record, isForeign: isForeign)
            append(overruled, of: record, isForeign: false)
            for change in changeSet.changes { current[change.key] = .some(change.new) }
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
