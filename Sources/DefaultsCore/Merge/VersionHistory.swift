package import PropertyList

/// The recent versions of a domain's file, newest first, each kept as its difference from the next newer one.
///
/// A foreign writer has loaded one of them. Which one tells what it changed: a key that isn't in the file because its
/// writer had loaded an older version was not deleted by it.
package struct VersionHistory: Sendable {
    /// How many versions are kept: 40 s of publishing without a pause, hours in practice.
    package static let capacity = 4096
    /// Keys in all differences, over which old versions are let go before `capacity` is reached.
    package static let keyCapacity = 65_536

    /// So long, in nanoseconds, a writer has for what it does: to write what it has loaded, or to write once more.
    private static let moment: Int64 = 10_000_000_000

    /// What leads from a version to the one before it, when it took that one's place, and whether a foreign writer wrote it.
    private struct Step {
        var back: Difference
        var time: Timestamp
        var isForeign: Bool
    }

    /// The newest version's step is the last.
    private var steps: [Step] = []
    /// The version that a foreign writer wrote last: `total` after it, and when.
    private var written: (total: Int, time: Timestamp)?
    /// When the newest version took its place.
    private var latest = Timestamp(nanoseconds: .min)
    private var keys = 0
    /// How many versions have come in all, those included that are let go.
    package private(set) var total = 0

    package init() {}

    /// How many versions before the newest are known.
    package var count: Int { steps.count }

    /// Notes that a new version came.
    ///
    /// - Parameters:
    ///   - back: what leads from the new version back to the one before; nothing, when the same was written once more.
    ///   - time: when it took the former's place in the file.
    ///   - isForeign: whether a foreign writer wrote it, and no store.
    package mutating func append(back: Difference, at time: Timestamp, isForeign: Bool) {
        defer {
            latest = time
            if isForeign { written = (total, time) }
        }
        if back.isEmpty { return }
        total += 1
        steps.append(Step(back: back, time: time, isForeign: isForeign))
        keys += back.count
        // The version before the newest is kept, however many keys it takes: a displaced file's writer had loaded it.
        guard steps.count > Self.capacity || keys > Self.keyCapacity, steps.count > 1 else { return }
        // Let go an eighth at once, since the array moves what remains.
        var surplus = 0
        repeat {
            keys -= steps[surplus].back.count
            surplus += 1
        } while surplus < steps.count - 1
            && (surplus < steps.count / 8 || keys > Self.keyCapacity)
        steps.removeFirst(surplus)
    }

    /// Finds which keys a file's writer changed: those in which the file differs from the version that it is nearest to,
    /// the newest of several.
    ///
    /// Only versions count that were in the file within ten seconds of its being written: who has removed a key that was
    /// set last, and changed another, writes what is nearer to the version before, and means it. A writer that takes longer
    /// is taken at its word. So is it in a key that a foreign writer wrote last: among foreign writers the last one counts,
    /// and one that is alone has loaded what it wrote itself.
    ///
    /// A file that equals an older version was put back by someone: then all that differs from the newest is their change.
    /// Not so if a foreign writer wrote a version that is no further, and no edit that was made since then has been
    /// published but in the same moment: it may have seen nothing of that moment, and have written once more. Foundation's
    /// own UserDefaults writes the same again when it doesn't find in the file what it wrote, and goes on from what it has
    /// as long as the file isn't younger than that.
    ///
    /// - Parameters:
    ///   - disk: the file's values.
    ///   - differing: the keys in which the newest version differs from them.
    ///   - time: when the file changed.
    ///   - writing: when it was written: it may have been moved, or its owner changed, later on.
    ///   - format: its format.
    ///   - skipped: how many of the newest versions the writer can't have loaded, nor put another back in place of.
    ///   - mayBeRestore: whether a file that equals an older version was put back; false where it is known in part alone.
    /// - Returns: the keys that the writer set or removed, perhaps to what they are anyway.
    package func keysChanged(
        by disk: DomainValues, differing: Set<String>, at time: Timestamp, writtenAt writing: Timestamp,
        readFrom format: PropertyListFormat, skipping skipped: Int = 0, mayBeRestore: Bool = true
    ) -> Set<String> {
        var current = differing
        var newest = differing
        var nearest = differing
        var sinceWritten: Set<String>?
        // The keys that were written since, and those of them that a foreign writer wrote last.
        var seen: Set<String> = []
        var foreign: Set<String> = []
        for index in 0...steps.count {
            if index > 0 {
                let step = steps[steps.count - index]
                for (key, value) in step.back {
                    if PropertyListValue.areSame(value, disk[key], readFrom: format) {
                        current.remove(key)
                    } else {
                        current.insert(key)
                    }
                    if index > skipped, seen.insert(key).inserted, step.isForeign, newest.contains(key) {
                        foreign.insert(key)
                    }
                }
            }
            if index < skipped { continue }
            if index == skipped { (newest, nearest) = (current, current) }
            if let written, index == total - written.total { sinceWritten = current }
            if current.isEmpty, mayBeRestore || index == skipped {
                guard let sinceWritten, sinceWritten.count <= newest.count, mayGoOn(with: sinceWritten, at: time) else {
                    return newest
                }
                return sinceWritten
            }
            if current.count < nearest.count, mayBeLoaded(index, by: writing) {
                let changed = current.union(foreign)
                if changed.count < nearest.count { nearest = changed }
            }
        }
        return nearest
    }

    /// Whether a version before the newest was in the file within the moment of a time.
    private func mayBeLoaded(_ index: Int, by time: Timestamp) -> Bool {
        let replaced = steps[steps.count - index].time
        // No later than it was replaced, whatever the clock said; of the oldest no more is known.
        let placed = index < steps.count ? min(steps[steps.count - index - 1].time, replaced) : replaced
        return Self.isSoon(time, after: replaced) && Self.isSoon(placed, after: time)
    }

    /// Whether the last foreign writer may have changed no more than some keys of what it wrote; the same as before it
    /// writes in the same moment alone.
    private func mayGoOn(with changed: Set<String>, at time: Timestamp) -> Bool {
        guard let written else { return false }
        return Self.isSoon(latest, after: written.time)
            && (!changed.isEmpty || Self.isSoon(time, after: written.time))
    }

    /// Whether what came later came within the moment; any clock may have been set to anything.
    private static func isSoon(_ later: Timestamp, after time: Timestamp) -> Bool {
        let (age, overflow) = later.nanoseconds.subtractingReportingOverflow(time.nanoseconds)
        return overflow ? later < time : age <= moment
    }
}
