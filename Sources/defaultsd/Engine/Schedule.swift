import DefaultsCore
import Linux
import NIOCore

/// The engine's planned work: items, the times at which they are due, and the numbers of failed attempts.
///
/// A pure value; it has no clock.
struct Schedule {
    /// A piece of planned work.
    enum Item: Hashable {
        /// Read a domain's file again, because a program had it open for writing.
        case reloadOpen(Domain)
        /// Read a domain's file again, because it couldn't be read.
        case reloadUnreadable(Domain)
        /// Read a domain's file again, and accept its loss if it is still missing or unusable.
        case confirmLoss(Domain)
        /// Save a domain's edits.
        case save(Domain)
        /// Examine displaced files again, and files that a crash left behind.
        case examineDisplaced
        /// Reload all files, because the directory couldn't be completely listed.
        case reloadAll
        /// Read the manifests again, because some couldn't be read.
        case readManifests
        /// Write the change log file again.
        case maintainJournal
        /// Read the watcher's events and check the paths.
        case readEvents
    }

    private var times: [Item: NIODeadline] = [:]
    /// The time at which the next item is due: the earliest of `times`.
    private(set) var next: NIODeadline?
    /// The numbers of consecutive failed attempts, retained even while an item isn't planned.
    private var failures: [Item: Int] = [:]

    // MARK: Times

    /// Plans an item, or moves a planned one to the earlier of the two times.
    mutating func plan(_ item: Item, at time: NIODeadline) {
        times[item] = min(time, times[item] ?? time)
        next = min(time, next ?? time)
    }

    /// Plans an item, or moves a planned one to another time.
    mutating func move(_ item: Item, to time: NIODeadline) {
        remove(item)
        plan(item, at: time)
    }

    /// Removes an item, but not the count of its failures.
    mutating func remove(_ item: Item) {
        if times.removeValue(forKey: item) == next { next = times.values.min() }
    }

    /// The time at which an item is due, or `nil` if it isn't planned.
    subscript(item: Item) -> NIODeadline? { times[item] }

    /// The planned items.
    var items: [Item] { Array(times.keys) }

    /// Removes and returns the items that are due, the earliest first.
    mutating func dequeueDue(at now: NIODeadline) -> [Item] {
        let due = times.filter { $1 <= now }.sorted { $0.value < $1.value }.map(\.key)
        for item in due { times[item] = nil }
        next = times.values.min()
        return due
    }

    // MARK: Failures

    /// Records a failed attempt, and plans the next one after the item's delay.
    mutating func fail(_ item: Item, at now: NIODeadline) {
        let count = failureCount(of: item)
        plan(item, at: now + Self.delay(of: item, after: count))
        failures[item] = count + 1
    }

    /// Forgets an item's failures; a planned item stays planned.
    mutating func succeed(_ item: Item) {
        failures[item] = nil
    }

    /// Returns the number of consecutive failed attempts.
    func failureCount(of item: Item) -> Int { failures[item, default: 0] }

    /// Returns whether the last attempt failed.
    func hasFailed(_ item: Item) -> Bool { failures[item] != nil }

    /// The items whose last attempt failed.
    var failedItems: [Item] { Array(failures.keys) }

    /// The number of failures (over about 250 ms) after which a file that is open for writing is read anyway.
    static let maximumOpenReloads = 10

    /// Returns the delay before the next attempt, given the number of consecutive failures before the latest one.
    ///
    /// A file that is open for writing is reloaded at short intervals first, and at longer ones later.
    static func delay(of item: Item, after failures: Int) -> TimeAmount {
        let delay: Duration =
            switch item {
            case .reloadOpen where failures < maximumOpenReloads:
                RetryDelay(first: .milliseconds(1), limit: .milliseconds(50)).after(failures)
            case .reloadOpen:
                RetryDelay(first: .milliseconds(250), limit: .seconds(5)).after(failures - maximumOpenReloads)
            case .examineDisplaced: RetryDelay(first: .seconds(1), limit: .seconds(5)).after(failures)
            case .reloadUnreadable, .confirmLoss, .save, .reloadAll, .readManifests, .maintainJournal, .readEvents:
                RetryDelay(first: .seconds(1), limit: .seconds(60)).after(failures)
            }
        return TimeAmount(delay)
    }
}

/// The domains with edits collected to be saved together, with the times of their first and last edits.
///
/// A pure value; it has no clock. It isn't part of `Schedule`, because any thread can add to it without waking the
/// engine.
struct DelayedSaves {
    private var times: [Domain: (first: NIODeadline, last: NIODeadline)] = [:]

    /// Records an edit.
    ///
    /// - Returns: Whether this is the domain's first collected edit.
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
    /// Edits are due when `pause` has passed since the last edit, but no later than `limit` after the first.
    ///
    /// - Parameters:
    ///   - domain: The domain with collected edits.
    ///   - pause: The required time since the last edit.
    ///   - limit: The maximum time since the first edit.
    /// - Returns: The time, or `nil` if no edits are collected.
    func end(of domain: Domain, pause: TimeAmount, limit: TimeAmount) -> NIODeadline? {
        times[domain].map { min($0.last + pause, $0.first + limit) }
    }
}
