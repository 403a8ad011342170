import PropertyList

/// The choice of the records that an archive keeps.
///
/// A change is kept if it is recent, or if it is one of the last changes to its key. If the remaining changes
/// exceed the size limit, each key gets an equal share of it. A key that needs less keeps all of its changes, so a key
/// that changes all the time can't push others out.
package struct HistoryThinning: Hashable, Sendable {
    /// The number of days for which every change is kept.
    package var days = 30
    /// The number of changes to each key that are kept beyond these days.
    package var changes = 100
    /// The target size of all changes, in bytes; the last change to each key is kept regardless.
    package var bytes = 16 << 20

    package init() {}

    private struct ChangeKey: Hashable {
        var domain: Domain
        var key: String
    }

    private struct Candidate {
        var entry: Int
        var size: Int
        var isRecent: Bool
    }

    /// Returns the encoded entries to keep, oldest first.
    func thin(_ file: HistoryFile, without exclusions: HistoryExclusions, now: Timestamp) -> [UInt8] {
        let limit = now.nanoseconds - Int64(days) * 86_400_000_000_000
        var candidates: [ChangeKey: [Candidate]] = [:]
        var others: Set<Int> = []
        var last: Revision = 0
        for index in 0..<file.count {
            // A record that was archived twice is dropped.
            guard let record = file.record(at: index), record.revision > last else { continue }
            last = record.revision
            let isRecent = record.time.nanoseconds >= limit
            guard case .change(let changeSet) = record.event else {
                if isRecent { others.insert(index) }
                continue
            }
            let size = file.entry(at: index).count / max(1, changeSet.changes.count)
            for change in changeSet.changes where !exclusions.exclude(change.key, of: changeSet.domain) {
                candidates[ChangeKey(domain: changeSet.domain, key: change.key), default: []].append(
                    Candidate(entry: index, size: size, isRecent: isRecent))
            }
        }
        for (key, all) in candidates {
            let first = max(0, all.count - changes)
            candidates[key] = all.enumerated().filter { $0 >= first || $1.isRecent }.map(\.element)
        }
        let share = Self.share(of: candidates.values.map { $0.reduce(0) { $0 + $1.size } }, within: bytes)
        var kept: [Int: Set<String>] = [:]
        for (key, all) in candidates {
            var size = 0
            for candidate in all.reversed() {
                size += candidate.size
                // Every key keeps its last change.
                if size > share, size > candidate.size { break }
                kept[candidate.entry, default: []].insert(key.key)
            }
        }
        return encode(file, kept, others, without: exclusions)
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

    private func encode(
        _ file: HistoryFile, _ kept: [Int: Set<String>], _ others: Set<Int>, without exclusions: HistoryExclusions
    ) -> [UInt8] {
        var output = HistoryArchive.magic
        for index in 0..<file.count {
            if others.contains(index) { output += file.entry(at: index) }
            guard let keys = kept[index], let record = file.record(at: index), let allowed = exclusions(record),
                case .change(var changeSet) = allowed.event
            else { continue }
            if keys.count == changeSet.changes.count, allowed == record {
                output += file.entry(at: index)
                continue
            }
            changeSet.changes.removeAll { !keys.contains($0.key) }
            changeSet.overruled.removeAll { !keys.contains($0.key) }
            let thinned = LogRecord(revision: record.revision, time: record.time, event: .change(changeSet))
            output += LogEntry.record(thinned).encoded
        }
        return output
    }
}
