import DefaultsCore
import NIOCore

/// The engine's planned work, by due time.
///
/// A pure value; it has no clock.
struct Agenda {
    /// A piece of planned work.
    enum Item: Hashable {
        /// Read a domain's file again, because a program had it open for writing.
        case reload(Domain)
        /// Read a domain's file again, and believe a loss that it still shows.
        case confirmLoss(Domain)
        /// Save a domain's edits.
        case save(Domain)
        /// Examine displaced files again, and files that a crash left behind.
        case examineDisplaced
        /// Reload all files, because the directory could not be listed completely.
        case reloadAll
        /// Start the change log's file again.
        case keepLog
    }

    private var times: [Item: NIODeadline] = [:]

    /// Plans an item, or moves a planned one to the earlier of the two times.
    mutating func add(_ item: Item, at time: NIODeadline) {
        times[item] = min(time, times[item] ?? time)
    }

    /// Plans an item, or moves a planned one to another time.
    mutating func move(_ item: Item, to time: NIODeadline) {
        times[item] = time
    }

    /// Removes an item.
    mutating func remove(_ item: Item) {
        times[item] = nil
    }

    /// The time at which an item is due, or `nil` if it isn't planned.
    subscript(item: Item) -> NIODeadline? { times[item] }

    /// The planned items.
    var items: [Item] { Array(times.keys) }

    /// The time at which the next item is due.
    var next: NIODeadline? { times.values.min() }

    /// Removes and returns the items that are due, the earliest first.
    mutating func dequeueDue(at now: NIODeadline) -> [Item] {
        let due = times.filter { $1 <= now }.sorted { $0.value < $1.value }.map(\.key)
        for item in due { times[item] = nil }
        return due
    }
}

/// The domains with edits that are collected to be saved together, with the times of their first and last edits.
///
/// A pure value; it has no clock.
struct DelayedSaves {
    private var times: [Domain: (first: NIODeadline, last: NIODeadline)] = [:]

    /// Notes an edit.
    ///
    /// - Returns: Whether it is the first collected edit of its domain.
    mutating func add(_ domain: Domain, at now: NIODeadline) -> Bool {
        let first = times[domain]?.first
        times[domain] = (first ?? now, now)
        return first == nil
    }

    /// Removes a domain's edits.
    mutating func remove(_ domain: Domain) {
        times[domain] = nil
    }

    /// Returns the time at which a domain's edits are due to be saved.
    ///
    /// They are due after a pause since the last edit, and at the latest at a limit after the first.
    ///
    /// - Parameters:
    ///   - domain: The domain.
    ///   - pause: The time since the last edit.
    ///   - limit: The longest time since the first edit.
    /// - Returns: The time, or `nil` if no edits are collected.
    func end(of domain: Domain, pause: TimeAmount, limit: TimeAmount) -> NIODeadline? {
        times[domain].map { min($0.last + pause, $0.first + limit) }
    }
}
