package import DefaultsCore
import Linux
package import PropertyList

/// The changes to one key that a consumer has yet to receive, in order.
///
/// A search list appends changes under its own lock, so that they stay in order.
package final class PendingChanges: Sendable {
    /// A change from one value to another.
    package struct Change: Sendable {
        package var old: PropertyListValue?
        package var new: PropertyListValue?
    }

    /// The changes; nothing is called under the lock, which comes after a search list's in the lock order.
    private let queue = ForkSafeMutex<[Change]>([])

    /// The maximum number of separate changes; later ones are merged into the last.
    package static let capacity = 1_024

    package init() {}

    package func append(_ change: KeyChange) {
        queue.withLock { waiting in
            if waiting.count < Self.capacity {
                waiting.append(Change(old: change.old, new: change.new))
            } else {
                waiting[waiting.count - 1].new = change.new
            }
        }
    }

    /// Removes and returns the changes.
    package func drain() -> [Change] {
        queue.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
