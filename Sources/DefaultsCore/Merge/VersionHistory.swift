package import PropertyList

/// The recent versions of a domain's file, each stored as its difference from the next newer one.
///
/// A foreign writer has loaded one of these versions. Knowing which version tells what the writer changed: if a key is
/// missing because it wasn't in the version that the writer had loaded, the writer didn't remove it.
package struct VersionHistory: Sendable {
    /// The maximum number of versions, enough for 40 s of nonstop saves, or hours in practice.
    package static let capacity = 4096
    /// The maximum number of keys in all differences, above which old versions are discarded even if there are fewer
    /// than `capacity`.
    package static let keyCapacity = 65_536

    /// The maximum time, in nanoseconds, for which a writer is assumed to hold a version before it writes the file.
    private static let restoreWindow: Int64 = 10_000_000_000

    /// A version: the difference back to the previous version, the time when the version became the file, and its kind
    /// of writer.
    private struct Step {
        var back: Difference
        var time: Timestamp
        var isForeign: Bool
    }

    /// The versions, the newest last.
    private var steps: [Step] = []
    /// The last version from a foreign writer: `total` after that version, and its time.
    private var written: (total: Int, time: Timestamp)?
    /// The time when the newest version became the file.
    private var latest = Timestamp(nanoseconds: .min)
    private var keys = 0
    /// The number of versions ever appended, including discarded ones.
    package private(set) var total = 0

    package init() {}

    /// Whether no version has ever been appended.
    var isNew: Bool { total == 0 && written == nil }

    /// The number of known versions before the newest.
    package var count: Int { steps.count }

    /// Appends a new version.
    ///
    /// - Parameters:
    ///   - back: The difference from the new version back to the previous one; empty if the file was rewritten
    ///     unchanged.
    ///   - time: The time when the new version became the file.
    ///   - isForeign: Whether a foreign writer, rather than a store, wrote the version.
    package mutating func append(back: Difference, at time: Timestamp, isForeign: Bool) {
        defer {
            latest = time
            if isForeign { written = (total, time) }
        }
        if back.isEmpty { return }
        total += 1
        steps.append(Step(back: back, time: time, isForeign: isForeign))
        keys += back.count
        // Always retain the version before the newest, however many keys differ: the writer of a displaced file had
        // loaded it.
        guard steps.count > Self.capacity || keys > Self.keyCapacity, steps.count > 1 else { return }
        // Discard an eighth of the versions at once, since each removal shifts the rest.
        var surplus = 0
        repeat {
            keys -= steps[surplus].back.count
            surplus += 1
        } while surplus < steps.count - 1
            && (surplus < steps.count / 8 || keys > Self.keyCapacity)
        steps.removeFirst(surplus)
    }

    /// Infers which keys the writer of a file changed.
    ///
    /// A program loaded some version of the domain's file, changed a few keys, and wrote the whole file. Nothing
    /// records which version it had loaded. A key that differs from the newest version may be the writer's change, or
    /// may come unchanged from an older version that the writer had loaded. The question is which keys the writer
    /// changed.
    ///
    /// Below, version 0 is the newest version that the writer can have loaded: the newest of all, or the one before the
    /// `skipped` newest. Versions 1, 2 and so on precede it. D(v) is the set of keys in which the file differs from
    /// version v. The rules:
    ///
    /// 1. A writer usually changes few keys. So it is assumed to have loaded the version that gives the smallest
    ///    answer; on a tie, the newest of these. The answer for version 0 is D(0).
    /// 2. An older version v competes under rule 1 only if the file was written within ten seconds of the period in
    ///    which v was the current version. If a program holds its values for longer before it writes the file, all
    ///    differences count as its changes: the answer is D(0). The same goes for a user who undoes the last change by
    ///    hand after a while.
    /// 3. The answer for an older version v is D(v), plus each key of D(0) that changed between v and version 0 and was
    ///    last changed there by a foreign writer. Among foreign writers, the last one wins, and a single foreign writer
    ///    has seen its own changes. So only a store's change can be one that the writer hadn't seen.
    /// 4. If D(v) is empty for some v, the file equals that version and is assumed to have been restored on purpose,
    ///    however old the version is. The newest such v ends the search, and the answer is D(0): everything that
    ///    differs from version 0 is a change. (Without `mayBeRestore` this holds for version 0 alone; rules 1 to 3
    ///    apply to the others.)
    /// 5. Rule 4 has an exception. Let w be the last version that a foreign writer wrote. The answer is D(w) instead if
    ///    all of the following hold:
    ///    - w is version 0, v, or between them, and D(w) has no more keys than D(0).
    ///    - The newest version of all became the file at most ten seconds after w. The writer may then have missed all
    ///      saves in between, and continued from w.
    ///    - D(w) isn't empty; or the file, which then equals w, changed at most ten seconds after w. Foundation's
    ///      UserDefaults does this: it rewrites its own version if it doesn't find that version in the file, and
    ///      continues from its own values unless the file is newer.
    ///
    /// Example: a store wrote version B = `{x:1,y:1}` an hour ago. An editor loads it. At 12:00:01 a store saves x = 2,
    /// so the newest version is A = `{x:2,y:1}`. At 12:00:03 the editor writes `{x:1,y:5}`. A is version 0 and B is
    /// version 1, so D(0) = `{x,y}` and D(1) = `{y}`. B was current until two seconds before, so rule 2 admits it. The
    /// change to x between B and A is a store's, so rule 3 adds nothing. By rule 1 the answer is `{y}`: the editor set
    /// y, and x stays 2. Variations:
    ///
    /// - The editor writes at 12:00:12, more than ten seconds after B was replaced. Rule 2 leaves only version 0, and
    ///   the answer is `{x,y}`.
    /// - Another foreign writer wrote A. Rule 3 adds x to the answer for B, which is then no smaller than D(0). The
    ///   answer is `{x,y}`.
    /// - The editor writes `{x:1,y:1}`, which equals B. By rule 4 this is a restore, and the answer is D(0) = `{x}`.
    /// - The same, but the editor itself wrote B, at 12:00:00. Then w is B, D(w) is empty, and rule 5 applies: the
    ///   editor only rewrote its own version. The answer is empty, and x stays 2.
    ///
    /// - Parameters:
    ///   - disk: The file's values.
    ///   - differing: The keys in which the newest version differs from the file's values.
    ///   - time: The time when the file changed.
    ///   - writing: The time when the file was written, which is earlier than `time` if the file was moved or its owner
    ///     changed afterwards.
    ///   - format: The file's format.
    ///   - skipped: The number of newest versions to ignore, because the writer can neither have loaded them nor have
    ///     replaced them with an older version. If no earlier version is known, the answer is `differing`.
    ///   - mayBeRestore: Whether a file that equals an older version counts as restored on purpose; false if the
    ///     versions are only partly known.
    /// - Returns: The keys that the writer set, perhaps to their existing values, or removed.
    package func keysChanged(
        by disk: DomainValues, differing: Set<String>, at time: Timestamp, writtenAt writing: Timestamp,
        readFrom format: PropertyListFormat, skipping skipped: Int = 0, mayBeRestore: Bool = true
    ) -> Set<String> {
        var walk = Walk(differing: differing)
        var answer = differing
        var differingFromWritten: Set<String>?
        for index in 0...steps.count {
            if index > 0 {
                walk.stepBack(over: steps[steps.count - index], disk, format, countsForeign: index > skipped)
            }
            if index < skipped { continue }
            if index == skipped {
                walk.newest = walk.differing
                answer = walk.differing
            }
            if let written, index == total - written.total { differingFromWritten = walk.differing }
            if walk.differing.isEmpty, mayBeRestore || index == skipped {
                return answerOfRestore(differingFromNewest: walk.newest, differingFromWritten, at: time)
            }
            if walk.differing.count < answer.count, mayBeLoaded(index, by: writing) {
                let changed = walk.keysChangedIfLoaded
                if changed.count < answer.count { answer = changed }
            }
        }
        return answer
    }

    /// A walk back from the newest version, which compares each version with a file.
    private struct Walk {
        /// D(v): the keys in which the file differs from the version reached so far.
        private(set) var differing: Set<String>
        /// D(0).
        var newest: Set<String>
        /// The keys that changed between the version reached so far and version 0.
        private var changed: Set<String> = []
        /// The keys in both `changed` and D(0) that a foreign writer changed last.
        private var foreign: Set<String> = []

        init(differing: Set<String>) {
            self.differing = differing
            newest = differing
        }

        /// The writer's changes if it had loaded the version reached so far (rule 3).
        var keysChangedIfLoaded: Set<String> { differing.union(foreign) }

        /// Moves back to the version before a step.
        ///
        /// - Parameters:
        ///   - step: The step to undo: from the older version to the one reached so far.
        ///   - disk: The file's values.
        ///   - format: The file's format.
        ///   - countsForeign: Whether the step is between version 0 and older versions.
        mutating func stepBack(
            over step: Step, _ disk: DomainValues, _ format: PropertyListFormat, countsForeign: Bool
        ) {
            for (key, value) in step.back {
                if PropertyListValue.areSame(value, disk[key], readFrom: format) {
                    differing.remove(key)
                } else {
                    differing.insert(key)
                }
                if countsForeign, changed.insert(key).inserted, step.isForeign, newest.contains(key) {
                    foreign.insert(key)
                }
            }
        }
    }

    /// Returns the answer for a file that equals a known version (rules 4 and 5).
    ///
    /// - Parameters:
    ///   - newest: D(0).
    ///   - written: D(w); `nil` if w isn't version 0, the version that the file equals, or between them.
    ///   - time: The time when the file changed.
    /// - Returns: D(w) if the last foreign writer may have just continued from its own version, and D(0) otherwise.
    private func answerOfRestore(
        differingFromNewest newest: Set<String>, _ written: Set<String>?, at time: Timestamp
    ) -> Set<String> {
        guard let written, written.count <= newest.count, mayGoOn(with: written, at: time) else { return newest }
        return written
    }

    /// Returns whether a version before the newest was the current one within ten seconds of a time (rule 2).
    private func mayBeLoaded(_ index: Int, by time: Timestamp) -> Bool {
        let replaced = steps[steps.count - index].time
        // A version became the file no later than it was replaced, even if the clock was set back. For the oldest
        // version, no more than that is known.
        let placed = index < steps.count ? min(steps[steps.count - index - 1].time, replaced) : replaced
        return Self.isSoon(time, after: replaced) && Self.isSoon(placed, after: time)
    }

    /// Returns whether the last foreign writer may have continued from its own version without seeing a later one (rule
    /// 5).
    ///
    /// - Parameters:
    ///   - changed: The keys that the writer would have changed in its own version: D(w).
    ///   - time: The time when the file changed.
    /// - Returns: Whether it may have.
    private func mayGoOn(with changed: Set<String>, at time: Timestamp) -> Bool {
        guard let written else { return false }
        return Self.isSoon(latest, after: written.time)
            && (!changed.isEmpty || Self.isSoon(time, after: written.time))
    }

    /// Returns whether a time is before another, or at most ten seconds after it.
    ///
    /// The subtraction may overflow, since clocks can be set to anything.
    private static func isSoon(_ later: Timestamp, after time: Timestamp) -> Bool {
        let (age, overflow) = later.nanoseconds.subtractingReportingOverflow(time.nanoseconds)
        return overflow ? later < time : age <= restoreWindow
    }
}
