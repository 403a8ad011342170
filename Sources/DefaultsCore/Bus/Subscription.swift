/// One subscriber: a place in the log, a filter, and what to do when it falls behind.
///
/// There is no queue. The subscriber is asked to come when there is something, and reads from the log where it was.
package struct Subscription: Hashable, Sendable {
    /// What a subscriber gets that is slower than the changes.
    package enum Mode: String, Hashable, Sendable, CaseIterable {
        /// What waits is handed out as each key's net change. Past the log's end: a gap, then a snapshot.
        case latest
        /// Every record. Past the log's end: a gap, then a snapshot.
        case everything
        /// Every record. Past the log's end: the end.
        case disconnect
    }

    /// Where to begin.
    package enum Start: Hashable, Sendable {
        /// With what comes next.
        case now
        /// After a place that was reached before.
        case after(Cursor)
        /// With the values as they are, then what comes next.
        case snapshot
    }

    package private(set) var filter: SubscriptionFilter
    package let mode: Mode
    /// The revision up to which everything has been handed out.
    package private(set) var revision: Revision
    /// The place from which on the subscriber has missed records that are let go.
    private var missedFrom: Cursor?
    private var needsSnapshot: Bool
    /// Whether nothing comes any more.
    package private(set) var hasEnded = false
    /// The revision that the last event named; `nil` until the subscriber has caught up once.
    private var told: Revision?

    /// After so many records that don't pass the filter a bookmark is sent, so that the place a subscriber knows of stays
    /// within the log.
    private static let bookmarkDistance: Revision = 1_000

    /// Subscribes at a place of the log.
    package init(_ start: Start, filter: SubscriptionFilter, mode: Mode, log: ChangeLog) {
        self.filter = filter
        self.mode = mode
        self.revision = log.head
        self.needsSnapshot = start == .snapshot
        guard case .after(let cursor) = start else { return }
        if cursor.epoch == log.epoch, cursor.revision <= log.head {
            revision = cursor.revision
        } else {
            missedFrom = cursor
        }
    }

    /// Follows the domains of more names from the log's end on, if everything up to there has been handed out.
    ///
    /// - Returns: whether it does; then the names' values there are to be handed out, and a bookmark.
    mutating func widen(by names: [DomainName], in log: ChangeLog) -> Bool {
        guard !hasEnded, missedFrom == nil, !needsSnapshot, revision == log.head else { return false }
        filter.insert(names)
        told = revision
        return true
    }

    /// Stops following the domains of names.
    package mutating func narrow(by names: [DomainName]) { filter.remove(names) }

    /// Whether its records are those of the log, with all their keys.
    package var getsWholeRecords: Bool { mode != .latest && filter.keys.isEmpty }

    /// How many records are waiting.
    package func lag(in log: ChangeLog) -> Revision { log.head - min(revision, log.head) }

    /// The part of the log that a subscription reads next, as it was in one moment.
    package struct Portion: Sendable {
        /// Where the log ended.
        fileprivate let end: Cursor
        /// The records behind the subscription's place; `nil` when some of them are let go.
        fileprivate let records: [LogRecord]?
        /// Whether the events begin with a snapshot, unless the subscription ends.
        fileprivate(set) package var beginsWithSnapshot = false
    }

    /// The size of records, roughly, up to which they are handed out together: each slow subscriber may have so much waiting.
    private static let portionSize = 256 << 10

    /// The records to look at next, as many as the limit at most.
    ///
    /// They are copied from the log, and nothing else is done: `next(in:)` is for when the log's lock is released.
    package func portion(of log: ChangeLog, limit: Int = 64) -> Portion {
        if hasEnded { return Portion(end: log.cursor, records: []) }
        // In `latest` mode all that waits is one batch, whatever its size: its net changes are bounded by the keys.
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

    /// Moves past a portion, which was taken at the subscription's present place, and returns its events, oldest first.
    ///
    /// A bookmark ends the first batch that leaves the subscriber caught up; from then on each event's own place says so.
    ///
    /// - Returns: no events when the subscriber is caught up; `nil` when the filter leaves nothing of the portion, and the
    ///   next one is to be looked at.
    package mutating func next(in portion: Portion) -> [SubscriptionEvent]? {
        if hasEnded { return [] }
        // Before its first snapshot a subscriber has been promised nothing, and misses nothing.
        if missedFrom == nil, !needsSnapshot, portion.records == nil {
            missedFrom = Cursor(epoch: portion.end.epoch, revision: revision)
        }
        if missedFrom != nil || needsSnapshot { return begin(at: portion.end) }

        var events: [SubscriptionEvent] = []
        if let records = portion.records, let last = records.last {
            let before = revision
            revision = last.revision
            let wanted = records.compactMap { filter($0) }
            let joined = mode == .latest ? NetChange.coalesce(wanted) : wanted
            // Once records are joined, what is yet to come reaches back before what has been handed out. So the place
            // moves with the last event alone, and then past changes that came to nothing.
            let isJoined = joined.count < wanted.count
            events = joined.enumerated().map { index, record in
                let place = !isJoined ? record.revision : index == joined.count - 1 ? last.revision : before
                return .record(record, cursor: Cursor(epoch: portion.end.epoch, revision: place))
            }
            if told != nil, case .record(_, let cursor)? = events.last { told = cursor.revision }
        }
        let isCaughtUp = revision == portion.end.revision
        if isCaughtUp, told.map({ revision - $0 >= Self.bookmarkDistance }) ?? true {
            told = revision
            events.append(.bookmark(portion.end))
        }
        return events.isEmpty && !isCaughtUp ? nil : events
    }

    /// Goes on at the log's end, after a gap or with a snapshot.
    private mutating func begin(at cursor: Cursor) -> [SubscriptionEvent] {
        let gap = missedFrom.map { SubscriptionEvent.gap(from: $0, to: cursor) }
        revision = cursor.revision
        told = nil
        missedFrom = nil
        needsSnapshot = false
        if gap != nil, mode == .disconnect {
            hasEnded = true
            return [gap, .ended].compactMap(\.self)
        }
        return [gap, .snapshotDue(at: cursor)].compactMap(\.self)
    }
}
