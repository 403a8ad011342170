package import PropertyList

/// The three-way merge of a foreign writer's changes with the edits that apps have made since.
///
/// A merge depends only on its inputs. Its rules are:
///
/// 1. A foreign writer changed exactly those keys in which its file differs from the version that it had loaded (see
///    `FileVersions.keysChanged`).
/// 2. The last writer wins, key by key. If an edit of the key is pending, the later of the two changes stands; a
///    tie goes to the edit.
/// 3. A value is replaced as a whole; nested values aren't merged.
package struct Merge: Sendable {
    /// The values of the domain's file as last read or saved.
    package var base: DomainValues {
        get { stored.values }
        _modify { yield &stored.values }
    }
    /// `base`, which may still be the file's bytes; every change and every merge parses them.
    private(set) var stored: FileValues
    /// The versions that preceded `base`.
    package var versions: FileVersions
    /// The edits that the file doesn't hold yet, by key.
    package var pending: [String: Edit]
    /// The time of the change that led to `base`.
    package var baseTime: Timestamp
    /// The times at which keys of `base` were last set or removed, where known.
    package var keyTimes: [String: Timestamp] = [:]

    package init(
        base: DomainValues = [:], versions: FileVersions = FileVersions(), pending: [String: Edit] = [:],
        baseTime: Timestamp = Timestamp(nanoseconds: .min)
    ) {
        self.init(base: FileValues(base), versions: versions, pending: pending, baseTime: baseTime)
    }

    init(
        base: FileValues, versions: FileVersions = FileVersions(), pending: [String: Edit] = [:],
        baseTime: Timestamp
    ) {
        stored = base
        self.versions = versions
        self.pending = pending
        self.baseTime = baseTime
    }

    /// Parses `base`, if it is still bytes, before it is used more than once.
    mutating func parseBase() { stored.parse() }

    /// Returns the value in effect: the pending edit's, or else the file's.
    package func current(_ key: String) -> PropertyListValue? {
        if let edit = pending[key] { return edit.value }
        return base[key]
    }

    /// All values in effect.
    package var current: DomainValues { storedCurrent.values }

    /// All values in effect, which may still be the file's bytes.
    var storedCurrent: FileValues {
        if pending.isEmpty { return stored }
        var values = base
        for (key, edit) in pending { values[key] = edit.value }
        return FileValues(values)
    }

    /// The outcome of a merge: the changes in the values in effect, and the values that lost.
    package struct Result: Hashable, Sendable {
        package var changes: [KeyChange] = []
        package var overruled: [Overruled] = []

        package init() {}

        /// Adds a value that a writer wrote because it had loaded an older version.
        fileprivate mutating func overrule(
            _ value: PropertyListValue?, of key: String, loaded inference: FileVersions.Inference
        ) {
            overruled.append(
                Overruled(key: key, value: value, writer: .file, reason: .olderVersion(inference.loaded)))
        }
    }

    /// Merges the file's current contents.
    ///
    /// - Parameters:
    ///   - disk: The file's values.
    ///   - format: The file's format.
    ///   - time: The time of the change. For a version that another store saved, the time of its newest edit.
    ///   - times: The times of the keys' changes, for a version that another store saved.
    ///   - sessions: The last edits of some sessions that the store had made before it saved that version.
    ///   - evidence: The evidence of how a foreign writer came to write the file.
    ///   - isWhole: Whether the writer had loaded `base` or a later version, so that every difference is a change by
    ///     the writer.
    ///   - mayBeRestore: Whether a file that equals an older version counts as restored on purpose.
    ///   - hash: The hash of the file's bytes, if it is known.
    ///   - now: The current time; later ones of `times` aren't believed.
    /// - Returns: The changes in the values in effect, and the values that lost.
    package mutating func reload(
        _ disk: DomainValues, format: PropertyListFormat, changedAt time: Timestamp,
        keysAt times: KeyTimes? = nil, after sessions: [EditIdentity] = [], by evidence: WriterEvidence,
        isWhole: Bool = false, mayBeRestore: Bool = true,
        hashed hash: ContentHash? = nil, now: Timestamp = Timestamp(nanoseconds: .max)
    ) -> Result {
        parseBase()
        func keyTime(_ key: String) -> Timestamp { times.map { min($0[key], time) } ?? time }
        let difference = Difference(from: base, to: disk, readFrom: format)
        let inference =
            isWhole
            ? FileVersions.Inference(changed: Set(difference.keys))
            : versions.keysChanged(
                by: disk, hashed: hash, differing: Set(difference.keys), evidence, readFrom: format,
                mayBeRestore: mayBeRestore)
        var result = Result()
        // The file has these edits, or what the same process has replaced them with.
        let settled = pending.filter { sessions.include($1) }
        for (key, edit) in settled {
            pending[key] = nil
            let value = difference[key] ?? base[key]
            if PropertyListValue.areSame(edit.value, value, readFrom: format) { continue }
            result.changes.append(KeyChange(key: key, old: edit.value, new: value))
        }
        // Another store may have changed a key twice, so that it has the same value as in `base` again.
        let setBack = pending.filter { key, edit in
            times?.haveChange(to: key, after: max(edit.time, keyTimes[key] ?? edit.time), until: now) ?? false
        }.keys
        for key in inference.changed.union(setBack) where settled[key] == nil {
            // If the key isn't in the difference, the file holds the value in `base` as precisely as its format can, so
            // use `base`.
            let theirs = difference[key] ?? base[key]
            if decide(on: key, theirs: theirs, at: keyTime(key), readFrom: format, into: &result) { pending[key] = nil }
        }
        for key in inference.stale where pending[key] == nil {
            // The writer didn't mean to change this key back, so restore the newer value.
            pending[key] = Edit(
                value: base[key], time: keyTimes[key] ?? baseTime, writer: .agent, sequence: Edit.unordered)
            result.overrule(disk[key], of: key, loaded: inference)
        }
        advance(
            by: difference, at: time, placedAt: max(time, evidence.written),
            writtenAt: isWhole ? nil : evidence.written, replacesUnread: evidence.isUnread == true, hash: hash)
        record(Set(difference.keys).union(setBack).map { ($0, keyTime($0)) })
        for (key, edit) in pending where PropertyListValue.areSame(edit.value, disk[key], readFrom: format) {
            // The file holds the edit's value as precisely as its format can. The exact value stays in effect, as after
            // a save.
            base[key] = edit.value
            pending[key] = nil
        }
        return result
    }

    /// Merges the removal of the file, which removes every key.
    package mutating func removeFile(at time: Timestamp) -> Result {
        parseBase()
        let difference = Difference(uniqueKeysWithValues: base.keys.map { ($0, .none) })
        var result = Result()
        for key in difference.keys {
            if decide(on: key, theirs: nil, at: time, readFrom: .binary, into: &result) { pending[key] = nil }
        }
        advance(by: difference, at: time, placedAt: time, writtenAt: time)
        record(difference.keys.lazy.map { ($0, time) })
        pending = pending.filter { $1.value != nil }
        return result
    }

    /// Merges a version that a foreign writer wrote just before its file was replaced by `base`.
    ///
    /// The writer's changes become pending, since the file no longer holds them.
    ///
    /// - Parameters:
    ///   - disk: The values of the displaced version.
    ///   - format: The format of the displaced version.
    ///   - time: The time when the displaced version was written.
    ///   - evidence: The evidence of how the writer came to write it.
    ///   - total: `versions.total` before the save that displaced the version. The writer can't have loaded a later
    ///     version.
    ///   - hash: The hash of the displaced version's bytes, if it is known.
    /// - Returns: The changes in the values in effect, and the values that lost.
    package mutating func displace(
        _ disk: DomainValues, format: PropertyListFormat, changedAt time: Timestamp, by evidence: WriterEvidence,
        loadedBefore total: Int, hashed hash: ContentHash? = nil
    ) -> Result {
        parseBase()
        let difference = Difference(from: base, to: disk, readFrom: format)
        let inference = versions.keysChanged(
            by: disk, hashed: hash, differing: Set(difference.keys), evidence, readFrom: format,
            skipping: max(0, versions.total - total))
        var result = Result()
        for key in inference.stale where !PropertyListValue.areSame(current(key), disk[key], readFrom: format) {
            result.overrule(disk[key], of: key, loaded: inference)
        }
        for key in inference.changed {
            if pending[key] == nil, isLater(key, than: disk[key], writtenAt: time, loadedBefore: total) {
                // The version that replaced the displaced one holds a later change to the key.
                if !PropertyListValue.areSame(base[key], disk[key], readFrom: format) {
                    result.overruled.append(Overruled(key: key, value: disk[key], writer: .file))
                }
            } else if decide(on: key, theirs: disk[key], at: time, readFrom: format, into: &result) {
                pending[key] = Edit(value: disk[key], time: time, writer: .file, sequence: Edit.unordered)
            }
        }
        if difference.isEmpty { return result }
        // Another program may have loaded the displaced version before it was displaced, so record two steps: to that
        // version and back.
        let newest = versions.newestHash
        versions.append(
            back: Difference(uniqueKeysWithValues: difference.keys.map { ($0, base[$0]) }), at: time,
            writtenAt: evidence.written, hash: hash)
        versions.append(back: difference, at: baseTime, hash: newest)
        return result
    }

    /// Returns whether `base` holds a later change to a key than a displaced version, or may hold one that the writer
    /// of the displaced version can't have known.
    private func isLater(
        _ key: String, than value: PropertyListValue?, writtenAt time: Timestamp, loadedBefore total: Int
    ) -> Bool {
        let last = [keyTimes[key], versions.timeOfExcludedChange(to: key)].compactMap(\.self).max()
        if let last { return last >= time }
        guard let unseen = versions.unseen, total <= unseen.total, base[key] != nil else { return false }
        return value == nil || unseen.time >= time
    }

    /// Records that the file now holds `base` with these edits.
    ///
    /// - Parameters:
    ///   - edits: The saved edits.
    ///   - time: The time of the newest saved edit.
    ///   - placed: The time when the new version became the file, if different from `time`.
    ///   - replacesUnread: Whether it is known that no program had read the previous version.
    ///   - hash: The hash of the new version's bytes, if it is known.
    package mutating func markSaved(
        _ edits: [String: Edit], at time: Timestamp, placedAt placed: Timestamp? = nil, replacesUnread: Bool = false,
        hashed hash: ContentHash? = nil
    ) {
        parseBase()
        advance(
            by: edits.mapValues(\.value), at: time, placedAt: placed ?? time, writtenAt: nil,
            replacesUnread: replacesUnread, hash: hash)
        record(edits.lazy.map { ($0, $1.time) })
        for (key, edit) in edits {
            // Only the time may be another, if the same value has been set again since.
            guard let left = pending[key], left.value == edit.value, left.sequence == edit.sequence else { continue }
            record([(key, left.time)])
            pending[key] = nil
        }
    }

    /// Sets or removes keys.
    ///
    /// For a key that already has the value, only its time changes: nothing that was written before overrules it.
    ///
    /// - Returns: The changes in the values in effect.
    package mutating func edit(
        _ values: Difference, time: Timestamp, writer: Writer, sequence: UInt64, identity: EditIdentity? = nil
    ) -> [KeyChange] {
        parseBase()
        return values.compactMap { key, value in
            let old = current(key)
            if old == value {
                if let edit = pending[key] {
                    pending[key]?.time = max(edit.time, time)
                } else if !keyTimes.isEmpty {
                    // Without earlier changes, there is no displaced file that could hold an older value.
                    record([(key, max(keyTimes[key] ?? baseTime, time))])
                }
                return nil
            }
            pending[key] = Edit(value: value, time: time, writer: writer, sequence: sequence, identity: identity)
            return KeyChange(key: key, old: old, new: value)
        }
    }

    /// Returns the part of a late edit that still applies: the keys that haven't been set or written since.
    ///
    /// - Parameters:
    ///   - values: The keys that the edit sets or removes.
    ///   - time: The time of the edit.
    ///   - writer: The writer of the edit.
    ///   - former: The values that the keys had before the edit; `nil` if they are unknown.
    ///   - format: The file's format.
    /// - Returns: The keys that must still be set or removed.
    package func notOverruled(
        _ values: Difference, setAt time: Timestamp, by writer: Writer, replacing former: FormerValues?,
        readFrom format: PropertyListFormat
    ) -> Difference {
        let base = base
        return values.filter { key, _ in
            if let edit = pending[key] {
                // An edit without a time has that of its arrival, so the writer's earlier one may have a later time.
                let isOwn = edit.writer == writer && former?[key, default: [nil]].contains(edit.value) == true
                return edit.time <= time || isOwn
            }
            // The file is newer than the edit, but perhaps only because of other keys. This key is unchanged if the
            // file holds a value that the edit was meant to replace.
            if (keyTimes[key] ?? baseTime) <= time { return true }
            guard let former else { return false }
            return former[key, default: [nil]].contains { PropertyListValue.areSame($0, base[key], readFrom: format) }
        }
    }

    /// Decides whether a foreign writer's value replaces the one in effect, and adds the change and any overruled value
    /// to `result`.
    ///
    /// - Returns: Whether the foreign writer's value wins.
    private func decide(
        on key: String, theirs: PropertyListValue?, at time: Timestamp, readFrom format: PropertyListFormat,
        into result: inout Result
    ) -> Bool {
        let mine = current(key)
        if PropertyListValue.areSame(mine, theirs, readFrom: format) { return false }
        if let edit = pending[key] {
            if edit.time >= time {
                result.overruled.append(Overruled(key: key, value: theirs, writer: .file))
                return false
            }
            if case .app = edit.writer {
                result.overruled.append(Overruled(key: key, value: edit.value, writer: edit.writer))
            }
        }
        result.changes.append(KeyChange(key: key, old: mine, new: theirs))
        return true
    }

    /// Limits all times to the current one, after a time that turned out to be in the future.
    mutating func limitTimes(to now: Timestamp) {
        baseTime = min(baseTime, now)
        keyTimes = keyTimes.mapValues { min($0, now) }
        for (key, edit) in pending { pending[key]?.time = min(edit.time, now) }
        versions.limitTimes(to: now)
    }

    /// Records the times at which keys of `base` were set or removed.
    private mutating func record(_ times: some Sequence<(String, Timestamp)>) {
        for (key, time) in times { keyTimes[key] = time }
        guard keyTimes.count > FileVersions.keyCapacity else { return }
        let oldest = keyTimes.sorted { $0.value < $1.value }.prefix(keyTimes.count / 2)
        for (key, _) in oldest { keyTimes[key] = nil }
    }

    private mutating func advance(
        by difference: Difference, at time: Timestamp, placedAt placed: Timestamp, writtenAt written: Timestamp?,
        replacesUnread: Bool = false, hash: ContentHash? = nil
    ) {
        var back: Difference = [:]
        back.reserveCapacity(difference.count)
        for (key, value) in difference {
            back[key] = .some(base[key])
            base[key] = value
        }
        versions.append(back: back, at: placed, writtenAt: written, replacesUnread: replacesUnread, hash: hash)
        baseTime = time
    }
}
