package import PropertyList

/// The recent versions of a domain's file, newest first, each kept as its difference from the next newer one.
///
/// A foreign writer has loaded one of them. Which one tells what it changed: a key that isn't in the file because its
/// writer had loaded an older version was not deleted by it.
package struct VersionHistory: Sendable {
    /// How far back a writer may have loaded: 40 s of publishing without a pause, hours in practice.
    package static let capacity = 4096
    /// Keys in all differences, over which old versions are let go before `capacity` is reached.
    package static let keyCapacity = 65_536

    /// What leads from a version to the one before it, and where that came from; the newest version's last.
    private var steps: [(back: Difference, origin: VersionOrigin)] = []
    /// Where the newest version came from.
    package private(set) var newestOrigin = VersionOrigin.written
    private var keys = 0
    /// How many versions have come in all, those included that are let go.
    package private(set) var total = 0

    /// Begins with a version.
    package init(_ origin: VersionOrigin = .written) { newestOrigin = origin }

    /// How many versions before the newest are known.
    package var count: Int { steps.count }

    /// Notes that a new version came.
    ///
    /// - Parameters:
    ///   - back: what leads from the new version back to the one before.
    ///   - origin: where the new version came from.
    package mutating func append(back: Difference, origin: VersionOrigin) {
        if back.isEmpty {
            // The same once more is no version; but its writer may know less than the store by now.
            if origin == .overruled { newestOrigin = origin }
            return
        }
        defer { newestOrigin = origin }
        total += 1
        steps.append((back, newestOrigin))
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
    /// A file that equals an older version was put back by someone: then all that differs from the newest is their change.
    /// Not so if the last that a foreign writer wrote was overruled in part, and that version is nearer than the newest: then
    /// it is the same writer, that knows no more than it did and has written once more. Foundation's own UserDefaults
    /// writes again whenever it doesn't find in the file what it wrote a moment ago.
    ///
    /// - Parameters:
    ///   - disk: the file's values.
    ///   - differing: the keys in which the newest version differs from them.
    ///   - format: the file's format.
    ///   - skipped: how many of the newest versions the writer can't have loaded, nor put another back in place of.
    /// - Returns: the keys that the writer set or removed, perhaps to what they are anyway.
    package func keysChanged(
        by disk: DomainValues, differing: Set<String>, readFrom format: PropertyListFormat, skipping skipped: Int = 0
    ) -> Set<String> {
        var current = differing
        var newest = differing
        var nearest = differing
        // What differs from the last version of a foreign writer, if that was overruled.
        var sinceOverruled: Set<String>?
        var hasMetWriter = false
        for index in 0...steps.count {
            var origin = newestOrigin
            if index > 0 {
                let step = steps[steps.count - index]
                for (key, value) in step.back {
                    if PropertyListValue.areSame(value, disk[key], readFrom: format) {
                        current.remove(key)
                    } else {
                        current.insert(key)
                    }
                }
                origin = step.origin
            }
            if index < skipped { continue }
            if index == skipped { (newest, nearest) = (current, current) }
            if !hasMetWriter, origin != .published {
                hasMetWriter = true
                if origin == .overruled { sinceOverruled = current }
            }
            if current.isEmpty {
                if let sinceOverruled, sinceOverruled.count < newest.count { return sinceOverruled }
                return newest
            }
            if current.count < nearest.count { nearest = current }
        }
        return nearest
    }
}
