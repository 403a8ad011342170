package import PropertyList

/// The three-way merge: what a foreign writer changed, against what apps have set since.
///
/// Last writer wins, by key.
///
/// It is a function of its inputs alone. The rules are DESIGN's: a file's writer has changed what differs from the version
/// it had loaded; where an edit is pending, the later of the two stands, the edit on a tie; values are whole.
package struct Merge: Sendable {
    /// A domain's file as it was last read or published.
    package var base: DomainValues
    /// The versions before `base`.
    package var history: VersionHistory
    /// What was set since, by key.
    package var pending: [String: Edit]
    /// When `base` came to be.
    package var baseTime: Timestamp
    /// The times at which keys of `base` were last set or removed, as far as they are known.
    package var keyTimes: [String: Timestamp] = [:]

    package init(
        base: DomainValues = [:], history: VersionHistory = VersionHistory(), pending: [String: Edit] = [:],
        baseTime: Timestamp = Timestamp(nanoseconds: .min)
    ) {
        self.base = base
        self.history = history
        self.pending = pending
        self.baseTime = baseTime
    }

    /// The value in force: a pending edit's, else the file's.
    package func current(_ key: String) -> PropertyListValue? {
        if let edit = pending[key] { return edit.value }
        return base[key]
    }

    /// All values in force.
    package var current: DomainValues {
        var values = base
        for (key, edit) in pending { values[key] = edit.value }
        return values
    }

    /// What a merge changed in the values in force, and what lost.
    package struct Result: Hashable, Sendable {
        package var changes: [KeyChange] = []
        package var overruled: [Overruled] = []

        package init() {}
    }

    /// Takes over what is in the file now.
    ///
    /// - Parameters:
    ///   - disk: the file's values.
    ///   - format: its format.
    ///   - time: when it changed: when the newest edit was made of what another store published.
    ///   - written: when a foreign writer wrote it, if not just then.
    ///   - placed: when that came into the file, if not at once.
    ///   - isWhole: whether its writer had loaded `base`, or what came since: then every difference is its change.
    ///   - mayBeRestore: whether a file that equals an older version was put back on purpose.
    /// - Returns: what changed in the values in force, and what lost.
    package mutating func reload(
        _ disk: DomainValues, format: PropertyListFormat, changedAt time: Timestamp,
        writtenAt written: Timestamp? = nil, placedAt placed: Timestamp? = nil, isWhole: Bool = false,
        mayBeRestore: Bool = true
    ) -> Result {
        let difference = Difference(from: base, to: disk, readFrom: format)
        let changed =
            isWhole
            ? Set(difference.keys)
            : history.keysChanged(
                by: disk, differing: Set(difference.keys), at: time, writtenAt: written ?? time, readFrom: format,
                mayBeRestore: mayBeRestore)
        var result = Result()
        for key in changed {
            // Where the file holds `base` as well as it can, it is `base` that comes into force.
            let theirs = difference[key] ?? base[key]
            if decide(key, theirs, time, format, &result) { pending[key] = nil }
        }
        for key in difference.keys where !changed.contains(key) && pending[key] == nil {
            // Its writer had loaded an older version, and has not meant to change this key back.
            pending[key] = Edit(value: base[key], time: baseTime, writer: .agent, sequence: Edit.unordered)
            result.overruled.append(Overruled(key: key, value: disk[key], writer: .file))
        }
        advance(by: difference, at: time, placedAt: placed ?? time, isForeign: !isWhole)
        note(difference.keys.lazy.map { ($0, time) })
        for (key, edit) in pending where PropertyListValue.areSame(edit.value, disk[key], readFrom: format) {
            // The file holds it as well as it can. In force is what was set, as after publishing.
            base[key] = edit.value
            pending[key] = nil
        }
        return result
    }

    /// Takes over that the file is gone: its writer has removed every key.
    package mutating func removeFile(at time: Timestamp) -> Result {
        let difference = Difference(uniqueKeysWithValues: base.keys.map { ($0, .none) })
        var result = Result()
        for key in difference.keys {
            if decide(key, nil, time, .binary, &result) { pending[key] = nil }
        }
        advance(by: difference, at: time, placedAt: time, isForeign: true)
        note(difference.keys.lazy.map { ($0, time) })
        pending = pending.filter { $1.value != nil }
        return result
    }

    /// Takes over what a foreign writer wrote just before its file was replaced by `base`.
    ///
    /// What it changed becomes pending, since the file has it no more.
    ///
    /// - Parameters:
    ///   - disk: the values that it wrote.
    ///   - format: the format in which it wrote them.
    ///   - time: when.
    ///   - total: `history.total` before the publication that replaced its file: what came since it can't have loaded.
    /// - Returns: what changed in the values in force, and what lost.
    package mutating func displace(
        _ disk: DomainValues, format: PropertyListFormat, changedAt time: Timestamp, loadedBefore total: Int
    ) -> Result {
        let difference = Difference(from: base, to: disk, readFrom: format)
        let changed = history.keysChanged(
            by: disk, differing: Set(difference.keys), at: time, writtenAt: time, readFrom: format,
            skipping: max(0, history.total - total))
        var result = Result()
        for key in changed {
            if pending[key] == nil, let last = keyTimes[key], last >= time {
                // Its file has been replaced since by one that holds a later change.
                if !PropertyListValue.areSame(base[key], disk[key], readFrom: format) {
                    result.overruled.append(Overruled(key: key, value: disk[key], writer: .file))
                }
            } else if decide(key, disk[key], time, format, &result) {
                pending[key] = Edit(value: disk[key], time: time, writer: .file, sequence: Edit.unordered)
            }
        }
        if difference.isEmpty { return result }
        // Someone may have loaded it; then the published version came again.
        history.append(
            back: Difference(uniqueKeysWithValues: difference.keys.map { ($0, base[$0]) }), at: time, isForeign: true)
        history.append(back: difference, at: time, isForeign: false)
        return result
    }

    /// Takes over that the file now holds `base` and these edits.
    ///
    /// - Parameters:
    ///   - edits: the edits.
    ///   - time: when the newest of them was made.
    ///   - placed: when the file came to hold them, if not at once.
    package mutating func publish(_ edits: [String: Edit], at time: Timestamp, placedAt placed: Timestamp? = nil) {
        advance(by: edits.mapValues(\.value), at: time, placedAt: placed ?? time, isForeign: false)
        note(edits.lazy.map { ($0, $1.time) })
        for (key, edit) in edits where pending[key] == edit { pending[key] = nil }
    }

    /// Sets or removes keys; what isn't changed by it is left out.
    ///
    /// - Returns: the changes in the values in force.
    package mutating func edit(_ values: Difference, time: Timestamp, writer: Writer, sequence: UInt64) -> [KeyChange] {
        values.compactMap { key, value in
            let old = current(key)
            if old == value { return nil }
            pending[key] = Edit(value: value, time: time, writer: writer, sequence: sequence)
            return KeyChange(key: key, old: old, new: value)
        }
    }

    /// What stands of an edit that is made again, some time after it was set: what nobody has set or written since.
    ///
    /// - Parameters:
    ///   - values: what the edit set and removed.
    ///   - time: when.
    ///   - former: what the keys held before it; `nil` when nobody knows.
    ///   - format: the file's format.
    /// - Returns: the keys that are still to be set or removed.
    package func standing(
        _ values: Difference, setAt time: Timestamp, replacing former: FormerValues?,
        readFrom format: PropertyListFormat
    ) -> Difference {
        values.filter { key, _ in
            if let edit = pending[key] { return edit.time <= time }
            // The file is younger, but perhaps for other keys' sake: then it holds what the edit was to replace.
            if baseTime <= time { return true }
            guard let former else { return false }
            return former[key, default: [nil]].contains { PropertyListValue.areSame($0, base[key], readFrom: format) }
        }
    }

    /// Whether a foreign writer's value for a key stands; notes the change, and what lost.
    private func decide(
        _ key: String, _ theirs: PropertyListValue?, _ time: Timestamp, _ format: PropertyListFormat,
        _ result: inout Result
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

    /// Notes when keys of `base` were set or removed.
    private mutating func note(_ times: some Sequence<(String, Timestamp)>) {
        for (key, time) in times { keyTimes[key] = time }
        guard keyTimes.count > VersionHistory.keyCapacity else { return }
        let oldest = keyTimes.sorted { $0.value < $1.value }.prefix(keyTimes.count / 2)
        for (key, _) in oldest { keyTimes[key] = nil }
    }

    private mutating func advance(
        by difference: Difference, at time: Timestamp, placedAt placed: Timestamp, isForeign: Bool
    ) {
        var back: Difference = [:]
        back.reserveCapacity(difference.count)
        for (key, value) in difference {
            back[key] = .some(base[key])
            base[key] = value
        }
        history.append(back: back, at: placed, isForeign: isForeign)
        baseTime = time
    }
}
