import Synchronization

/// Counts the search lists of a process that someone is told of changes of.
final class ObservedLists: Sendable {
    private let count = Atomic(0)

    /// Whether there is one.
    var isAny: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    func add() { count.add(1, ordering: .sequentiallyConsistent) }

    func remove() { count.subtract(1, ordering: .sequentiallyConsistent) }
}
