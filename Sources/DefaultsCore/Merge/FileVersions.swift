package import PropertyList

/// The recent versions of a domain's file, each stored as its difference from the next newer one.
///
/// A foreign writer has loaded one of these versions. Knowing which version tells what the writer changed: if a key is
/// missing because it wasn't in the version that the writer had loaded, the writer didn't remove it.
package struct FileVersions: Sendable {
    /// The maximum number of versions, enough for 40 s of nonstop saves, or hours in practice.
    package static let capacity = 4096
    /// The maximum number of keys in all differences, above which old versions are discarded even if there are fewer
    /// than `capacity`.
    package static let keyCapacity = 65_536

    /// A version: the difference back to the previous version, and its kind of writer.
    private struct Step {
        var back: Difference
        var isForeign: Bool
        /// The time when the version became the file.
        var time: Timestamp
        /// Whether nobody had read the version before, which a store had saved, so that nobody can have a copy of it.
        var replacesUnread: Bool
    }

    /// The keys that a file's writer changed, and the older version that it had loaded.
    package struct Inference: Hashable, Sendable {
        /// The keys that the writer set, perhaps to their existing values, or removed.
        package var changed: Set<String>
        /// The keys that have older values in the file, because the writer had loaded those.
        package var stale: Set<String> = []
        /// The time when the version that the writer had loaded became the file; `nil` if it is unknown.
        package var loaded: Timestamp?
    }

    /// The versions, the newest last.
    private var steps: [Step] = []
    /// The last version from a foreign writer: `total` after that version, and the time when it was written.
    private var written: (total: Int, time: Timestamp)?
    /// The last version that may have changed any key: `total` before that version, and the time when it was written.
    private(set) var unseen: (total: Int, time: Timestamp)?
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
    ///   - foreign: The time when a foreign writer wrote the version; `nil` if a store saved it.
    ///   - replacesUnread: Whether it is known that nobody had read the previous version.
    package mutating func append(
        back: Difference, at time: Timestamp, writtenAt foreign: Timestamp? = nil, replacesUnread: Bool = false
    ) {
        defer {
            latest = time
            if let foreign { written = (total, foreign) }
        }
        if back.isEmpty { return }
        append(Step(back: back, isForeign: foreign != nil, time: time, replacesUnread: replacesUnread))
    }

    /// Appends what a foreign writer has changed in the newest version beyond what is known, because it wrote while no
    /// agent ran.
    package mutating func appendUnseen(writtenAt time: Timestamp) {
        unseen = (total, time)
        append(Step(back: [:], isForeign: true, time: time, replacesUnread: false))
    }

    private mutating func append(_ step: Step) {
        total += 1
        steps.append(step)
        keys += step.back.count
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

    /// Limits all times to the current one.
    mutating func limitTimes(to now: Timestamp) {
        latest = min(latest, now)
        for index in steps.indices { steps[index].time = min(steps[index].time, now) }
        if let written { self.written = (written.total, min(written.time, now)) }
        if let unseen { self.unseen = (unseen.total, min(unseen.time, now)) }
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
    /// version v. The rules, of which the first that applies gives the answer:
    ///
    /// 1. The file equals an older version that somebody may have read: it was put back, and everything that differs
    ///    from version 0 is meant. The answer is D(0). (Without `mayBeRestore`, this rule doesn't apply.)
    /// 2. Somebody has read version 0, perhaps the writer. So the later writer wins, and the answer is D(0), too. The
    ///    same goes for a file that was written more than ten seconds before version 0: it is an old copy.
    /// 3. Nobody has read version 0, so the writer had loaded an older version. (If nothing is known about that, the
    ///    same is assumed of a file that was written at most five seconds after version 0, or two if in place.) A
    ///    writer usually changes few keys. So it is assumed to have loaded the version that gives the smallest answer;
    ///    on a tie, the newest of these, but not version 0 if that is known to be unread. The answer for version v is
    ///    D(v), plus each key of D(0) that changed between v and version 0 and was last changed there by a foreign
    ///    writer. Among foreign writers, the last one wins, and a single foreign writer has seen its own changes. So
    ///    only a store's change can be one that the writer hadn't seen.
    ///
    /// Rule 1 has an exception. Foundation's UserDefaults reads back what it has just written, in place. If it finds
    /// another version, it writes its own again, although it has read the other. If the file looks like that, it holds
    /// nothing new, and the answer is empty.
    ///
    /// Example: a store wrote version B = `{x:1,y:1}`. An editor loads it. Then a store saves x = 2, so the newest
    /// version is A = `{x:2,y:1}`. Now the editor writes `{x:1,y:5}`. A is version 0 and B is version 1, so D(0) =
    /// `{x,y}` and D(1) = `{y}`. If nobody has read A, the answer is `{y}` by rule 3: the editor set y, and x stays 2.
    /// Variations:
    ///
    /// - Somebody has read A, so by rule 2 the answer is `{x,y}`.
    /// - Another foreign writer wrote A. Rule 3 adds x to the answer for B, which is then no smaller than D(0).
    /// - The editor writes `{x:1,y:1}`, which equals B. By rule 1 the answer is `{x}`.
    ///
    /// - Parameters:
    ///   - disk: The file's values.
    ///   - differing: The keys in which the newest version differs from the file's values.
    ///   - evidence: What is known about how the writer came to write the file.
    ///   - format: The file's format.
    ///   - skipped: The number of newest versions to ignore, because the writer can neither have loaded them nor have
    ///     replaced them with an older version. If no earlier version is known, the answer is `differing`.
    ///   - mayBeRestore: Whether a file that equals an older version counts as restored on purpose; false if the
    ///     versions are only partly known.
    /// - Returns: The answer, and the rest of D(0).
    package func keysChanged(
        by disk: DomainValues, differing: Set<String>, _ evidence: WriterEvidence, readFrom format: PropertyListFormat,
        skipping skipped: Int = 0, mayBeRestore: Bool = true
    ) -> Inference {
        let isStale = isStale(evidence)
        let mayBeRepeated = mayBeRepeated(evidence)
        var walk = Walk(differing: differing)
        var answer = Inference(changed: differing)
        func inference(_ changed: Set<String>, at index: Int) -> Inference {
            Inference(
                changed: changed, stale: walk.newest.subtracting(changed),
                loaded: index < steps.count ? steps[steps.count - index - 1].time : nil)
        }
        for index in 0...steps.count {
            if index > 0 {
                walk.stepBack(over: steps[steps.count - index], with: disk, in: format, countsForeign: index > skipped)
            }
            if index < skipped { continue }
            if index == skipped {
                walk.newest = walk.differing
                answer = Inference(changed: walk.newest)
                if !isStale && !mayBeRepeated { return answer }
            }
            // A version that nobody has read can't be put back. A writer whose change was merged before makes the same
            // file if it makes that change again.
            let mayBePutBack = index == skipped || mayBeRestore && !steps[steps.count - index].replacesUnread
            if walk.differing.isEmpty, mayBePutBack {
                let isRepeated = mayBeRepeated && index == total - (written?.total ?? total)
                return inference(isRepeated ? [] : walk.newest, at: index)
            }
            // On a tie, version 0 is not the one that was loaded, if nobody has read it.
            let margin = index == skipped + 1 && evidence.isUnread == true ? 1 : 0
            if isStale, walk.differing.count < answer.changed.count + margin {
                let changed = walk.keysChangedIfLoaded
                if changed.count < answer.changed.count + margin { answer = inference(changed, at: index) }
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
            over step: Step, with disk: DomainValues, in format: PropertyListFormat, countsForeign: Bool
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

    /// Returns whether a writer had loaded an older version than the newest that it can have loaded.
    private func isStale(_ evidence: WriterEvidence) -> Bool {
        let age = evidence.written.nanoseconds(since: latest)
        let holdingTime = evidence.isInPlace ? Self.holdingTimeInPlace : Self.holdingTime
        return age >= -Self.copyAge && (evidence.isUnread ?? (age <= holdingTime))
    }

    /// Returns whether the last foreign writer may have written its version a second time after reading it back.
    private func mayBeRepeated(_ evidence: WriterEvidence) -> Bool {
        guard let written, evidence.isInPlace, evidence.isUnread != true else { return false }
        return written.total < total
            && (0...Self.repetitionTime).contains(evidence.written.nanoseconds(since: written.time))
    }

    /// The age, relative to version 0, beyond which a file counts as an old copy, in nanoseconds.
    private static let copyAge: Int64 = 10_000_000_000
    /// The time, in nanoseconds, for which a program is assumed to hold its values before it writes them, if it isn't
    /// known whether the newest version has been read.
    private static let holdingTime: Int64 = 5_000_000_000
    /// The same for a program that writes in place: the write hides whether it had read the newest version first.
    private static let holdingTimeInPlace: Int64 = 2_000_000_000
    /// The time, in nanoseconds, within which Foundation's UserDefaults, which waits for 50 ms, writes again.
    private static let repetitionTime: Int64 = 500_000_000
}
