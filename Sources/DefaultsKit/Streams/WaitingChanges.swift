import Linux
import PropertyList

/// The changes of one key that wait for a consumer, in order.
///
/// A search list adds to it while it changes, so that no other thread's change comes between.
final class WaitingChanges: Sendable {
    /// A value and the one before.
    struct Change: Sendable {
        var old: PropertyListValue?
        var new: PropertyListValue?
    }

    /// Nothing is called under its lock, which is taken after a search list's.
    private let waiting = ForkSafeMutex<[Change]>([])

    /// So many changes wait at most; the last of them takes in all that follow.
    static let capacity = 1_024

    func append(_ change: EffectiveChange) {
        waiting.withLock { waiting in
            if waiting.count < Self.capacity {
                waiting.append(Change(old: change.old, new: change.new))
            } else {
                waiting[waiting.count - 1].new = change.new
            }
        }
    }

    /// Removes and returns what waits.
    func drain() -> [Change] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
