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
        /// Whether a store had saved the version before and no program had read it, so that none can have a copy.
        var replacesUnread = false
        /// The hashes of the version before, as far as they are known: several if only the bytes have changed.
        var hashes: [ContentHash] = []
        /// The keys that also differ from the version before, in which they have values that aren't known.
        var excluded: [ExcludedKeys] = []
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
    /// The hash of the newest version, if it is known.
    var newestHash: ContentHash?
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
    ///   - replacesUnread: Whether it is known that no program had read the previous version.
    ///   - hash: The hash of the new version, if it is known.
    ///   - excluded: The keys that also differ from the previous version, whose values in it aren't known.
    package mutating func append(
        back: Difference, at time: Timestamp, writtenAt foreign: Timestamp? = nil, replacesUnread: Bool = false,
        hash: ContentHash? = nil, excluded: [ExcludedKeys] = []
    ) {
        defer {
            latest = time
            newestHash = hash
            if let foreign { written = (total, foreign) }
        }
        if back.isEmpty, excluded.isEmpty { return }
        append(
            Step(
                back: back, isForeign: foreign != nil, time: time, replacesUnread: replacesUnread,
                hashes: newestHash.map { [$0] } ?? [], excluded: excluded))
    }

    /// Appends what a foreign writer has changed in the newest version beyond what is known, because it wrote while no
    /// agent ran.
    package mutating func appendUnseen(writtenAt time: Timestamp) {
        unseen = (total, time)
        append(Step(back: [:], isForeign: true, time: time, hashes: newestHash.map { [$0] } ?? []))
    }

    /// Sets the hashes of earlier versions, given by `total` when each was the newest.
    ///
    /// - Parameters:
    ///   - positions: The hashes.
    ///   - unread: The versions that are known to have been replaced unread.
    mutating func setHashes(_ positions: [ContentHash: Int], unread: Set<ContentHash> = []) {
        for (hash, position) in positions {
            let index = position - (total - steps.count)
            guard steps.indices.contains(index) else { continue }
            let isUnread = unread.contains(hash) && (steps[index].hashes.isEmpty || steps[index].replacesUnread)
            steps[index].hashes.append(hash)
            steps[index].replacesUnread = isUnread
        }
    }

    /// Returns whether a later version replaced the one with a hash, after the time of its newest edit.
    ///
    /// A file with that hash and time has been put back. A store that saves the same bytes again adds a later edit.
    func haveReplaced(_ hash: ContentHash, editedAt time: Timestamp) -> Bool {
        steps.contains { $0.hashes.contains(hash) && $0.time >= time }
    }

    /// Returns `total` when the version with a hash was last the newest; `nil` if it isn't known.
    func total(of hash: ContentHash) -> Int? {
        if newestHash == hash { return total }
        return steps.lastIndex { $0.hashes.contains(hash) }.map { total - (steps.count - $0) }
    }

    /// Returns the time of the last change to a key that is excluded from the log that the versions come from; `nil` if
    /// there is none.
    func timeOfExcludedChange(to key: String) -> Timestamp? {
        steps.last { !$0.excluded.isEmpty && $0.excluded.contain(key) }?.time
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
    /// 1. The file has the very bytes of an older version, or it has the same values and a program may have read that
    ///    version. It was put back, and every difference from version 0 is intended. The answer is D(0). (Without
    ///    `mayBeRestore`, this rule doesn't apply.)
    /// 2. A program has read version 0, perhaps the writer. So the later writer wins, and the answer is D(0), too. The
    ///    same goes for a file that was written more than ten seconds before version 0: it is an old copy.
    /// 3. No program has read version 0, so the writer had loaded an older version. (If nothing is known about that,
    ///    the same is assumed of a file that was written at most five seconds after version 0, or two if in place.) A
    ///    writer usually changes few keys. So it is assumed to have loaded the version that gives the smallest answer;
    ///    on a tie, the newest, but an unread one only if all of them are. The answer for version v is D(v), plus each
    ///    key of D(0) that changed between v and version 0 and was last changed there by a foreign writer. Among
    ///    foreign writers, the last one wins, and a single foreign writer has seen its own changes. So only a store's
    ///    change can be one that the writer hadn't seen.
    ///
    /// Rule 1 has two exceptions:
    ///
    /// - Foundation's UserDefaults reads back what it has just written, in place. If it finds another version, it
    ///   writes its own again, although it has read the other. If the file looks like that, it holds nothing new, and
    ///   the answer is empty.
    /// - If the newest versions were saved by stores and never read, and foreign writers wrote all versions between
    ///   them and the older one, the last of these writers may have set its own keys back, for example with a checkbox.
    ///   A restore can be repeated, but a lost edit can't. So the answer is that of rule 3 for the last foreign
    ///   version.
    ///
    /// The values of keys that are excluded from the log are unknown in the versions before a restart. A key with an
    /// unknown value counts as equal to the file's, so a writer that had loaded such a version isn't taken to have
    /// changed the key. But the key counts in the size of the answer. A version with such a key is recognized only by
    /// its bytes.
    ///
    /// Example: a store wrote version B = `{x:1,y:1}`. An editor loads it. Then a store saves x = 2, so the newest
    /// version is A = `{x:2,y:1}`. Now the editor writes `{x:1,y:5}`. A is version 0 and B is version 1, so D(0) =
    /// `{x,y}` and D(1) = `{y}`. If no program has read A, the answer is `{y}` by rule 3: the editor set y, and x is
    /// still 2. Variations:
    ///
    /// - A program has read A, so by rule 2 the answer is `{x,y}`.
    /// - Another foreign writer wrote A. Rule 3 adds x to the answer for B, which is then no smaller than D(0).
    /// - The editor writes `{x:1,y:1}`, which equals B. By rule 1 the answer is `{x}`.
    ///
    /// - Parameters:
    ///   - disk: The file's values.
    ///   - hash: The hash of the file's bytes, if it is known.
    ///   - differing: The keys in which the newest version differs from the file's values.
    ///   - evidence: The evidence of how the writer came to write the file.
    ///   - format: The file's format.
    ///   - skipped: The number of newest versions to ignore, because the writer can neither have loaded them nor have
    ///     replaced them with an older version. If no earlier version is known, the answer is `differing`.
    ///   - mayBeRestore: Whether a file that equals an older version counts as restored on purpose; false if the
    ///     versions are only partly known.
    /// - Returns: The answer, and the rest of D(0).
    package func keysChanged(
        by disk: DomainValues, hashed hash: ContentHash? = nil, differing: Set<String>, _ evidence: WriterEvidence,
        readFrom format: PropertyListFormat, skipping skipped: Int = 0, mayBeRestore: Bool = true
    ) -> Inference {
        let isStale = isStale(evidence)
        let mayBeRepeated = mayBeRepeated(evidence)
        var walk = Walk(differing: differing)
        var answer = Inference(changed: differing)
        // Twice the size of the answer, and more for an unread version, which loses a tie: 1 for an older one, and 2
        // for version 0.
        var cost = 0
        func inference(_ changed: Set<String>, at index: Int) -> Inference {
            Inference(
                changed: changed, stale: walk.newest.subtracting(changed),
                loaded: index < steps.count ? steps[steps.count - index - 1].time : nil)
        }
        var ownChanges = evidence.isUnread == true ? OwnChanges.none : .impossible
        for index in 0...steps.count {
            if index > 0 {
                let step = steps[steps.count - index]
                if index > skipped {
                    // The version that a store saved and that the step leads to has been read.
                    let isRead = index - 1 > skipped && !steps[steps.count - index + 1].replacesUnread
                    ownChanges.add(isForeign: step.isForeign, isRead: isRead) {
                        inference(walk.keysChangedIfLoaded, at: index - 1)
                    }
                }
                walk.stepBack(over: step, with: disk, in: format, countsForeign: index > skipped)
            }
            if index < skipped { continue }
            if index == skipped {
                walk.newest = walk.differing
                answer = Inference(changed: walk.newest)
                cost = 2 * (walk.newest.count + (evidence.isUnread == true ? 1 : 0))
                if !isStale && !mayBeRepeated { return answer }
            }
            // A version that was never read can't be put back, unless the file has its very bytes.
            // A writer whose change was merged before makes the same file if it makes that change again.
            let older = index == skipped ? nil : steps[steps.count - index]
            let isSame = hash.flatMap { older?.hashes.contains($0) } ?? false
            let mayBePutBack = older.map { mayBeRestore && !$0.replacesUnread && !walk.hasUnknown } ?? true
            if isSame && mayBeRestore || walk.differing.isEmpty && mayBePutBack {
                let isRepeated = mayBeRepeated && index == total - (written?.total ?? total)
                return isRepeated ? inference([], at: index) : ownChanges.answer ?? inference(walk.newest, at: index)
            }
            // Keys with unknown values are no evidence for an older version.
            let unknown = walk.unknown.count
            guard isStale, let older, 2 * (walk.differing.count + unknown) < cost else { continue }
            let changed = walk.keysChangedIfLoaded
            let isUnread = older.replacesUnread && isSaved(at: index)
            let new = 2 * (changed.count + unknown) + (isUnread ? 1 : 0)
            if new < cost { (answer, cost) = (inference(changed, at: index), new) }
        }
        return answer
    }

    /// Returns whether it is known that a store saved an older version.
    private func isSaved(at index: Int) -> Bool { index < steps.count && !steps[steps.count - index - 1].isForeign }

    /// Whether the versions passed by a walk allow that the last foreign writer has set back its own changes.
    private enum OwnChanges {
        /// Only versions that stores saved and no program has read.
        case none
        /// Such versions, and before them those of the last foreign writer; with the answer if it had loaded the newest
        /// of these.
        case some(Inference)
        /// Other versions, too.
        case impossible

        var answer: Inference? { if case .some(let answer) = self { answer } else { nil } }

        /// Adds a version.
        ///
        /// - Parameters:
        ///   - isForeign: Whether a foreign writer wrote it.
        ///   - isRead: Whether it may have been read, if a store saved it.
        ///   - answer: The answer if the writer had loaded it.
        mutating func add(isForeign: Bool, isRead: Bool, _ answer: () -> Inference) {
            switch self {
            case .none where isForeign: self = .some(answer())
            case .none where isRead: self = .impossible
            case .some where !isForeign: self = .impossible
            case .none, .some, .impossible: break
            }
        }
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
        /// The keys that have unknown values in the version reached so far, and differ from version 0.
        private(set) var unknown: Set<String> = []
        /// Whether the version reached so far has keys with unknown values.
        private(set) var hasUnknown = false

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
                unknown.remove(key)
                if PropertyListValue.areSame(value, disk[key], readFrom: format) {
                    differing.remove(key)
                } else {
                    differing.insert(key)
                }
                if countsForeign { count(key, of: step) }
            }
            if step.excluded.isEmpty { return }
            hasUnknown = true
            for key in differing where step.excluded.contain(key) {
                differing.remove(key)
                if !countsForeign { continue }
                unknown.insert(key)
                count(key, of: step)
            }
        }

        private mutating func count(_ key: String, of step: Step) {
            if changed.insert(key).inserted, step.isForeign, newest.contains(key) { foreign.insert(key) }
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
