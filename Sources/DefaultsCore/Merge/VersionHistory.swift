package import PropertyList

/// The recent versions of a domain's file, each stored as its difference from the next newer one.
///
/// A foreign writer has loaded one of these versions. Knowing which one tells what the writer changed: a key that is
/// missing because the writer had loaded an older version wasn't removed by it.
package struct VersionHistory: Sendable {
    /// The maximum number of versions: 40 s of nonstop saves, hours in practice.
    package static let capacity = 4096
    /// The maximum number of keys in all differences, above which old versions are discarded before `capacity` is
    /// reached.
    package static let keyCapacity = 65_536

    /// The maximum delay with which a writer writes a version that it loaded, or writes it again, in nanoseconds.
    private static let restoreWindow: Int64 = 10_000_000_000

    /// A version: the difference back to the one before it, the time when it became the file, and its kind of writer.
    private struct Step {
        var back: Difference
        var time: Timestamp
        var isForeign: Bool
    }

    /// The versions, the newest last.
    private var steps: [Step] = []
    /// The last version that a foreign writer wrote: `total` after it, and its time.
    private var written: (total: Int, time: Timestamp)?
    /// The time when the newest version became the file.
    private var latest = Timestamp(nanoseconds: .min)
    private var keys = 0
    /// The number of versions that were ever appended, including those that have been discarded.
    package private(set) var total = 0

    package init() {}

    /// The number of known versions before the newest.
    package var count: Int { steps.count }

    /// Appends a new version.
    ///
    /// - Parameters:
    ///   - back: The difference from the new version back to the one before; empty if the file was rewritten unchanged.
    ///   - time: The time when it became the file.
    ///   - isForeign: Whether a foreign writer wrote it, rather than a store.
    package mutating func append(back: Difference, at time: Timestamp, isForeign: Bool) {
        defer {
            latest = time
            if isForeign { written = (total, time) }
        }
        if back.isEmpty { return }
        total += 1
        steps.append(Step(back: back, time: time, isForeign: isForeign))
        keys += back.count
        // Keep the version before the newest, however many keys differ: the writer of a displaced file had loaded it.
        guard steps.count > Self.capacity || keys > Self.keyCapacity, steps.count > 1 else { return }
        // Discard an eighth at once: each removal shifts the rest.
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
    /// The question: a program loaded some version of the domain's file, changed a few keys, and wrote the whole file.
    /// Which version it had loaded isn't recorded anywhere. A key that differs from the newest version may be the
    /// writer's change, or may be unchanged since an older version that the writer had loaded. Which keys did it
    /// change?
    ///
    /// Below, version 0 is the newest version that the writer can have loaded: the newest of all, or the one before the
    /// `skipped` newest. Versions 1, 2 and so on are the ones before it. D(v) is the set of keys in which the file
    /// differs from version v. The rules:
    ///
    /// 1. A writer changes few keys. So it is taken to have loaded the version that leads to the smallest answer; on a
    ///    tie, the newest of these. The answer for version 0 is D(0).
    /// 2. An older version v competes under rule 1 only if the file was written within ten seconds of the period in
    ///    which v was the current version. A program that holds its values for longer than that, and then writes the
    ///    file, is taken at its word: the answer is D(0). So is a user who undoes the last change by hand after a
    ///    while.
    /// 3. The answer for an older version v is D(v), plus each key of D(0) that changed between v and version 0 and was
    ///    last changed there by a foreign writer. Among foreign writers the last one counts, and a single foreign
    ///    writer has loaded what it wrote itself. So only a store's change can be one that the writer hadn't seen.
    /// 4. If D(v) is empty for some v, the file equals that version, and has been put back on purpose, however old the
    ///    version is. The newest such v ends the search, and the answer is D(0): everything that differs from version 0
    ///    is a change. (Without `mayBeRestore` this holds for version 0 alone; rules 1 to 3 apply to the others.)
    /// 5. Rule 4 has an exception. Let w be the last version that a foreign writer wrote. The answer is D(w) instead if
    ///    all of this holds:
    ///    - w is version 0, v, or between them, and D(w) has no more keys than D(0).
    ///    - The newest version of all became the file at most ten seconds after w. The writer may have seen none of the
    ///      saves in between, and have gone on from w.
    ///    - D(w) isn't empty; or the file, which then equals w, changed at most ten seconds after w. Foundation's
    ///      UserDefaults does this: it writes the same again if it doesn't find its own version in the file, and goes
    ///      on from what it has while the file isn't newer.
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
    ///   editor only wrote the same again. The answer is empty, and x stays 2.
    ///
    /// - Parameters:
    ///   - disk: The file's values.
    ///   - differing: The keys in which the newest version differs from them.
    ///   - time: The time when the file changed.
    ///   - writing: The time when it was written. It may have been moved, or its owner changed, later.
    ///   - format: The file's format.
    ///   - skipped: The number of newest versions that the writer can neither have loaded nor have replaced with an
    ///     older one. If no version before them is known, the answer is `differing`.
    ///   - mayBeRestore: Whether a file that equals an older version was put back; false if the versions are known only
    ///     in part.
    /// - Returns: The keys that the writer set or removed, perhaps to their existing values.
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

    /// A walk from the newest version back to older ones, which compares each with a file.
    private struct Walk {
        /// D(v): the keys in which the file differs from the version that was reached.
        private(set) var differing: Set<String>
        /// D(0).
        var newest: Set<String>
        /// The keys that changed between the version that was reached and version 0.
        private var changed: Set<String> = []
        /// Those of them that are in D(0), and that a foreign writer changed last.
        private var foreign: Set<String> = []

        init(differing: Set<String>) {
            self.differing = differing
            newest = differing
        }

        /// The writer's changes, if it had loaded the version that was reached (rule 3).
        var keysChangedIfLoaded: Set<String> { differing.union(foreign) }

        /// Goes back to the version before a step.
        ///
        /// - Parameters:
        ///   - step: The step to undo: from the older version to the one reached so far.
        ///   - disk: The file's values.
        ///   - format: The file's format.
        ///   - countsForeign: Whether the step leads to version 0 or an older one.
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
    /// - Returns: D(w) if its writer only went on from its own version, and D(0) otherwise.
    private func answerOfRestore(
        differingFromNewest newest: Set<String>, _ written: Set<String>?, at time: Timestamp
    ) -> Set<String> {
        guard let written, written.count <= newest.count, mayGoOn(with: written, at: time) else { return newest }
        return written
    }

    /// Returns whether a version before the newest was the current one within ten seconds of a time (rule 2).
    private func mayBeLoaded(_ index: Int, by time: Timestamp) -> Bool {
        let replaced = steps[steps.count - index].time
        // A version took its place no later than it was replaced, even if the clock was set back. For the oldest
        // version, nothing else is known.
        let placed = index < steps.count ? min(steps[steps.count - index - 1].time, replaced) : replaced
        return Self.isSoon(time, after: replaced) && Self.isSoon(placed, after: time)
    }

    /// Returns whether the last foreign writer may have gone on from its version without seeing a later one (rule 5).
    ///
    /// - Parameters:
    ///   - changed: The keys that it would have changed in its version.
    ///   - time: The time when the file changed.
    /// - Returns: Whether it may have.
    private func mayGoOn(with changed: Set<String>, at time: Timestamp) -> Bool {
        guard let written else { return false }
        return Self.isSoon(latest, after: written.time)
            && (!changed.isEmpty || Self.isSoon(time, after: written.time))
    }

    /// Returns whether a time is before another one, or at most ten seconds after it.
    ///
    /// The subtraction may overflow, since clocks can be set to anything.
    private static func isSoon(_ later: Timestamp, after time: Timestamp) -> Bool {
        let (age, overflow) = later.nanoseconds.subtractingReportingOverflow(time.nanoseconds)
        return overflow ? later < time : age <= restoreWindow
    }
}
