/// A subscriber's position in the log, its filter, and its mode, which applies when the subscriber falls behind.
///
/// There is no queue. The subscriber is notified when there is something to read, and continues to read the log from
/// its position.
package struct Subscription: Hashable, Sendable {
    /// The way to deal with a subscriber that is slower than the changes.
    package enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Pending records are delivered as each key's net change. If some have been discarded: a gap, then a snapshot.
        case latest
        /// Every record is delivered. If some have been discarded: a gap, then a snapshot.
        case everything
        /// Every record is delivered. If some have been discarded: a gap, then the end.
        case disconnect
    }

    /// The position at which a subscription begins.
    package enum Start: Hashable, Sendable {
        /// The end of the log.
        case now
        /// After a position that was reached earlier.
        case after(Cursor)
        /// The end of the log, after the values in effect.
        case snapshot
    }

    package private(set) var filter: SubscriptionFilter
    package let mode: Mode
    /// The position at which the subscription began.
    package let beginning: Cursor
    /// The revision up to which everything has been delivered.
    package private(set) var revision: Revision
    /// The position after which the subscriber has missed records because they were discarded; `nil` if it hasn't
    /// missed any.
    private var missedFrom: Cursor?
    private var needsSnapshot: Bool
    /// Whether the subscriber may have received a part of the next batch before it resumed.
    private var mayKnowPart = false
    /// Whether no more events follow.
    package private(set) var hasEnded = false
    /// The revision of the last event's cursor; `nil` until the subscriber has caught up once.
    private var lastReportedRevision: Revision?

    /// The number of filtered-out records after which a bookmark is sent.
    ///
    /// Bookmarks keep a subscriber's last known cursor from falling off the log.
    private static let bookmarkDistance: Revision = 1_000

    /// Creates a subscription at a position in the log.
    package init(_ start: Start, filter: SubscriptionFilter, mode: Mode, log: ChangeLog) {
        self.filter = filter
        self.mode = mode
        self.needsSnapshot = start == .snapshot
        if case .after(let cursor) = start, cursor.epoch == log.epoch, cursor.revision <= log.head {
            beginning = cursor
            mayKnowPart = mode == .latest && cursor.revision < log.head
        } else {
            beginning = log.cursor
            if case .after(let cursor) = start { missedFrom = cursor }
        }
        revision = beginning.revision
    }

    /// Adds domain names, effective from the log's end, if everything up to there has been delivered.
    ///
    /// - Returns: Whether the names were added. If so, the values of their domains at that position must be delivered
    ///   next, followed by a bookmark.
    mutating func widen(by names: [DomainName], in log: ChangeLog) -> Bool {
        guard !hasEnded, missedFrom == nil, !needsSnapshot, revision == log.head else { return false }
        filter.insert(names)
        lastReportedRevision = revision
        return true
    }

    /// Stops following the domains with some names.
    package mutating func narrow(by names: [DomainName]) { filter.remove(names) }

    /// Whether the subscriber gets the log's records as they are, with all their keys.
    package var getsWholeRecords: Bool { mode != .latest && filter.keys.isEmpty }

    /// Returns the number of pending records.
    package func lag(in log: ChangeLog) -> Revision { log.head - min(revision, log.head) }

    /// The part of the log that a subscription processes next, copied at one moment.
    package struct Portion: Sendable {
        /// The end of the log.
        fileprivate let end: Cursor
        /// The records after the subscription's position; `nil` if some of them have been discarded.
        fileprivate let records: [LogRecord]?
        /// Whether the events begin with a snapshot, unless the subscription has ended.
        fileprivate(set) package var beginsWithSnapshot = false
    }

    /// The approximate size, in bytes, of the records delivered together, and so of the memory that each slow
    /// subscriber may occupy.
    private static let portionSize = 256 << 10

    /// Returns the records to process next, up to the limit.
    ///
    /// The records are only copied from the log: `next(in:snapshots:)` does the rest after the log's lock is released.
    package func portion(of log: ChangeLog, limit: Int = 64) -> Portion {
        if hasEnded { return Portion(end: log.cursor, records: []) }
        // In `latest` mode all pending records are one batch, whatever their size: the number of keys limits the net
        // changes.
        let records =
            missedFrom != nil || needsSnapshot
            ? []
            : mode == .latest
                ? log.records(after: revision)
                : log.records(after: revision, limit: limit, bytes: Self.portionSize)
        let hasMissed = missedFrom != nil || records == nil
        return Portion(
            end: log.cursor, records: records,
            beginsWithSnapshot: hasMissed ? mode != .disconnect : needsSnapshot)
    }

    /// Advances past a portion, which must begin at the subscription's current position, and returns its events, oldest
    /// first.
    ///
    /// A bookmark ends the first batch after which the subscriber is caught up; from then on, the events' cursors
    /// suffice.
    ///
    /// - Parameters:
    ///   - portion: The portion to process, from `portion(of:limit:)`.
    ///   - snapshots: The values of all domains at the portion's end, if it begins with a snapshot.
    /// - Returns: The events, empty if the subscriber is caught up; `nil` if nothing in the portion passes the filter,
    ///   and the next portion must be read.
    package mutating func next(in portion: Portion, snapshots: [DomainSnapshot]) -> [StreamEvent]? {
        if hasEnded { return [] }
        // A subscriber that waits for its first snapshot can't have missed anything.
        if missedFrom == nil, !needsSnapshot, portion.records == nil {
            missedFrom = Cursor(epoch: portion.end.epoch, revision: revision)
        }
        if missedFrom != nil || needsSnapshot { return begin(at: portion.end, snapshots) }

        var events: [StreamEvent] = []
        if let records = portion.records, let last = records.last {
            let before = revision
            revision = last.revision
            let wanted = records.compactMap { filter($0) }
            // A subscriber that has received one event of an interrupted batch has values from the middle of this
            // one. So it also needs the keys that have returned to their first value since.
            let joined = mode == .latest ? NetChange.coalesce(wanted, includingUnchanged: mayKnowPart) : wanted
            mayKnowPart = false
            // When records are joined, a later event in the batch may include changes from before an earlier one. So
            // the cursor advances only with the last event, and then also past changes that canceled each other out.
            let isJoined = joined.count < wanted.count
            events = joined.enumerated().map { index, record in
                let cursorRevision = !isJoined ? record.revision : index == joined.count - 1 ? last.revision : before
                return .record(record, cursor: Cursor(epoch: portion.end.epoch, revision: cursorRevision))
            }
            if lastReportedRevision != nil, case .record(_, let cursor)? = events.last {
                lastReportedRevision = cursor.revision
            }
        }
        let isCaughtUp = revision == portion.end.revision
        if isCaughtUp, lastReportedRevision.map({ revision - $0 >= Self.bookmarkDistance }) ?? true {
            lastReportedRevision = revision
            events.append(.bookmark(portion.end))
        }
        return events.isEmpty && !isCaughtUp ? nil : events
    }

    /// Continues at the log's end, after a gap or with a snapshot.
    ///
    /// - Returns: The events; `nil` if there are none, although the subscriber isn't caught up.
    private mutating func begin(at cursor: Cursor, _ snapshots: [DomainSnapshot]) -> [StreamEvent]? {
        let before = missedFrom ?? .ofNoLog
        let gap = missedFrom.map { StreamEvent.gap(from: $0, to: cursor) }
        revision = cursor.revision
        lastReportedRevision = nil
        missedFrom = nil
        needsSnapshot = false
        if let gap, mode == .disconnect {
            hasEnded = true
            return [gap, .ended]
        }
        let wanted = snapshots.compactMap { filter($0) }
        let events = [gap].compactMap(\.self) + StreamEvent.initial(wanted, after: before)
        return events.isEmpty ? nil : events
    }
}
