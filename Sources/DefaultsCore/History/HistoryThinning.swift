import PropertyList

/// The choice of the records that an archive keeps.
///
/// A change is kept if it is recent, or if it is one of the last changes to its key. If the remaining changes exceed
/// the size limit, each key gets an equal share of it. A key that needs less keeps all of its changes, so a key that
/// changes all the time can't push others out. If even the last changes to all keys exceed the limit, the oldest are
/// dropped, and so is a single change that exceeds it. Records other than changes are treated as changes to a key of
/// their own in each domain.
package struct HistoryThinning: Hashable, Sendable {
    /// The number of days for which every change is kept.
    package var days = 30
    /// The number of changes to each key that are kept beyond these days.
    package var changes = 100
    /// The maximum size of all records, in bytes.
    package var bytes = 16 << 20

    package init() {}

    private struct ChangeKey: Hashable {
        var domain: Domain
        /// The key; `nil` for records other than changes.
        var key: String?
    }

    /// A change to a key, in an entry of the file.
    private struct Candidate {
        var entry: Int
        /// The entry's size, divided by the number of its keys.
        var size: Int
        var isRecent: Bool
    }

    /// The parts of an entry to keep.
    private struct Selection {
        /// Whether the entry may be copied if all of its keys are kept: it has nothing to remove.
        var isWhole = true
        /// The number of keys in the entry.
        var count = 0
        var kept: Set<String> = []
        /// Whether a record without keys is kept.
        var isKept = false
    }

    /// Returns the encoded entries to keep, oldest first.
    func thin(_ file: HistoryFile, without exclusions: HistoryExclusions, now: Timestamp) -> [UInt8] {
        let limit = now.nanoseconds - Int64(days) * 86_400_000_000_000
        var selections = [Selection](repeating: Selection(), count: file.count)
        var candidates: [ChangeKey: [Candidate]] = [:]
        var last: Revision = 0
        for index in 0..<file.count {
            // A record that was archived twice is dropped.
            guard let record = file.record(at: index), record.revision > last else { continue }
            last = record.revision
            let allowed = exclusions.redact(record)
            let keys = allowed.changeSet?.changes.map(\.key) ?? []
            selections[index].isWhole = allowed == record
            selections[index].count = keys.count
            let size = file.entry(at: index).count / max(1, keys.count)
            let candidate = Candidate(entry: index, size: size, isRecent: record.time.nanoseconds >= limit)
            for key in keys.isEmpty ? [nil] : keys.map(Optional.some) {
                candidates[ChangeKey(domain: record.domain, key: key), default: []].append(candidate)
            }
        }
        for (key, all) in candidates {
            let first = max(0, all.count - changes)
            candidates[key] = all.enumerated().filter { $0 >= first || $1.isRecent }.map(\.element)
        }
        let share = Self.share(of: candidates.values.map { $0.reduce(0) { $0 + $1.size } }, within: bytes)
        for (key, all) in candidates {
            var size = 0
            for candidate in all.reversed() {
                size += candidate.size
                // For now, every key keeps its last change.
                if size > share, size > candidate.size { break }
                if let key = key.key {
                    selections[candidate.entry].kept.insert(key)
                } else {
                    selections[candidate.entry].isKept = true
                }
            }
        }
        return encode(file, selections, without: exclusions)
    }

    /// Returns the largest share that lets keys of the given sizes fit within a total, each cut to the share.
    static func share(of sizes: [Int], within total: Int) -> Int {
        var rest = total
        let sizes = sizes.sorted()
        for (index, size) in sizes.enumerated() {
            let share = rest / (sizes.count - index)
            if size > share { return share }
            rest -= size
        }
        return .max
    }

    /// Encodes the selected records, the newest first, until they reach the size limit.
    private func encode(
        _ file: HistoryFile, _ selections: [Selection], without exclusions: HistoryExclusions
    ) -> [UInt8] {
        var entries: [[UInt8]] = []
        var size = 0
        for (index, selection) in selections.enumerated().reversed() {
            guard let entry = encode(file, index, selection, without: exclusions) else { continue }
            // A single large change mustn't push out all others.
            if entry.count > bytes { continue }
            size += entry.count
            if size > bytes { break }
            entries.append(entry)
        }
        return HistoryArchive.magic + entries.reversed().joined()
    }

    private func encode(
        _ file: HistoryFile, _ index: Int, _ selection: Selection, without exclusions: HistoryExclusions
    ) -> [UInt8]? {
        guard selection.isKept || !selection.kept.isEmpty else { return nil }
        if selection.isWhole, selection.kept.count == selection.count { return Array(file.entry(at: index)) }
        guard let record = file.record(at: index) else { return nil }
        let thinned = exclusions.redact(record).filter { selection.kept.contains($0) }
        return LogEntry.record(thinned).encoded
    }
}
