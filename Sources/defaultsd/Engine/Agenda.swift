import DefaultsCore
import NIOCore

/// What the engine is to do, and when.
///
/// Pure; it knows no clock.
struct Agenda {
    /// Something to do.
    enum Item: Hashable {
        /// Look at a domain's file, which someone had open for writing.
        case look(Domain)
        /// Look at a domain's file, and believe what is seen.
        case settle(Domain)
        /// Publish a domain's edits.
        case publish(Domain)
        /// Look once more at versions that were replaced, and at what a crash left behind.
        case examineDisplaced
        /// Look at all files, which couldn't all be found.
        case lookAtAll
        /// Keep the change log in its file again.
        case keepLog
    }

    private var times: [Item: NIODeadline] = [:]

    /// Plans an item, at the earlier of two times if it is planned already.
    mutating func add(_ item: Item, at time: NIODeadline) {
        times[item] = min(time, times[item] ?? time)
    }

    /// Plans an item, or moves it to another time.
    mutating func move(_ item: Item, to time: NIODeadline) {
        times[item] = time
    }

    /// Forgets an item.
    mutating func remove(_ item: Item) {
        times[item] = nil
    }

    /// When an item is planned for.
    subscript(item: Item) -> NIODeadline? { times[item] }

    /// What is planned.
    var items: [Item] { Array(times.keys) }

    /// When the next item is due.
    var next: NIODeadline? { times.values.min() }

    /// Takes out what is due, the earliest first.
    mutating func takeDue(at now: NIODeadline) -> [Item] {
        let due = times.filter { $1 <= now }.sorted { $0.value < $1.value }.map(\.key)
        for item in due { times[item] = nil }
        return due
    }
}
