import PropertyList

/// The choice of the records that an archive keeps.
///
/// A change is kept if it is recent, or if it is one of the last changes to its key. If the remaining changes exceed
/// the size limit, each key gets an equal share of it. A key that needs less keeps all of its changes, so a key that
/// changes all the time can't push others out. If even the last changes to all keys exceed the limit, the oldest are
/// dropped, and so is a single change that exceeds it. An undo or a redo also counts as a change to the keys whose
/// changes it reverses and that canceled each other out. All other records of a domain count as changes to one
/// pseudo-key. The newest lost change of each key is recorded, and no later change to it is lost, except for one that
/// exceeds the limit.
extension HistoryLimits {
    private struct ChangeKey: Hashable {
        var domain: Domain
        /// The key; `nil` for records other than changes.
        var key: String?
    }

    /// A change to a key, in an entry of the file.
    private struct Candidate {
        var entry: Int
        var revision: Revision
        /// The entry's size, divided by the number of its keys.
        var size: Int
        var isRecent: Bool
        /// Whether it may be a change to any key.
        var isUnknown: Bool
    }

    /// The parts of an entry to keep.
    private struct Selection {
        /// Whether the entry may be copied if all of its keys are kept: it has nothing to remove.
        var isWhole = true
        /// The number of keys in the entry.
        var count = 0
        /// The keys to keep; `nil` stands for a record without keys.
        var kept: Set<String?> = []
    }

    /// Returns the contents of the thinned file.
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
            let changed = allowed.keys
            let keys = changed.isEmpty ? [nil] : changed.map(Optional.some)
            selections[index].isWhole = allowed == record
            selections[index].count = keys.count
            let size = file.entry(at: index).count / keys.count
            let candidate = Candidate(
                entry: index, revision: record.revision, size: size, isRecent: record.time.nanoseconds >= limit,
                isUnknown: record.event == .unknown(record.domain))
            for key in keys {
                candidates[ChangeKey(domain: record.domain, key: key), default: []].append(candidate)
            }
        }
        let wanted = candidates.mapValues { all in
            // The clock may have been wrong, but no change is lost of which a later one isn't.
            all.suffix(from: min(max(0, all.count - changes), all.firstIndex(where: \.isRecent) ?? all.count))
        }
        let share = Self.share(of: wanted.values.map { $0.reduce(0) { $0 + $1.size } }, within: bytes)
        for (key, all) in wanted {
            var size = 0
            for candidate in all.reversed() {
                size += candidate.size
                // For now, every key keeps its last change.
                if size > share, size > candidate.size { break }
                selections[candidate.entry].kept.insert(key.key)
            }
        }
        let all = contents(of: file, candidates: candidates, selections: selections, within: bytes, without: exclusions)
        if all.count <= bytes + HistoryArchive.magic.count { return all }
        return contents(
            of: file, candidates: candidates, selections: selections, within: bytes - bytes / 8, without: exclusions)
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

    /// Returns the contents of a file with the selected records, the newest first until they reach a size.
    private func contents(
        of file: HistoryFile, candidates: [ChangeKey: [Candidate]], selections: [Selection], within limit: Int,
        without exclusions: HistoryExclusions
    ) -> [UInt8] {
        var kept: Set<Int> = []
        var entries: [[UInt8]] = []
        var size = 0
        for (index, selection) in selections.enumerated().reversed() {
            guard let entry = encode(selection, ofEntryAt: index, in: file, without: exclusions) else { continue }
            // A single large change mustn't push out all others.
            if entry.count > limit { continue }
            size += entry.count
            if size > limit { break }
            kept.insert(index)
            entries.append(entry)
        }
        // The changes that the archive has lost, now and earlier.
        var thinned = file.thinned
        thinned.remove(exclusions)
        for (changeKey, all) in candidates {
            let lost = all.last {
                (!kept.contains($0.entry) || !selections[$0.entry].kept.contains(changeKey.key))
                    && (changeKey.key != nil || $0.isUnknown)
            }
            if let lost { thinned.add(lost.revision, of: changeKey.key, in: changeKey.domain) }
        }
        return HistoryArchive.magic + thinned.encode(within: bytes / 8) + entries.reversed().joined()
    }

    private func encode(
        _ selection: Selection, ofEntryAt index: Int, in file: HistoryFile, without exclusions: HistoryExclusions
    ) -> [UInt8]? {
        if selection.kept.isEmpty { return nil }
        if selection.isWhole, selection.kept.count == selection.count { return Array(file.entry(at: index)) }
        guard let record = file.record(at: index) else { return nil }
        var thinned = exclusions.redact(record).filter { selection.kept.contains($0) }
        if let oldest = thinned.changeSet?.origin?.purpose?.reach?.oldest {
            thinned.changeSet?.origin?.purpose?.reach?.oldest = oldest.filter { selection.kept.contains($0.key) }
        }
        return LogEntry.record(thinned).encoded
    }
}
