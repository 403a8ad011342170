import Linux
import PropertyList

/// The changes of one key that a consumer has yet to receive, in order.
///
/// A search list adds to it under its own lock, so that changes keep their order.
final class PendingChanges: Sendable {
    /// A value and the one before.
    struct Change: Sendable {
        var old: PropertyListValue?
        var new: PropertyListValue?
    }

    /// Nothing is called under its lock, which is taken after a search list's.
    private let waiting = ForkSafeMutex<[Change]>([])

    /// The most changes kept apart; later ones are merged into the last.
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

    /// Removes the changes, and returns them.
    func drain() -> [Change] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
