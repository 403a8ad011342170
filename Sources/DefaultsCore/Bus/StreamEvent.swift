/// An event delivered to a subscriber.
package enum StreamEvent: Hashable, Sendable {
    /// A record, or the part of it that passes the filter, and the cursor to resume from once it has been handled.
    ///
    /// The cursor has the record's own revision, except in a batch of net changes. There, the last event has the cursor
    /// at the batch's end, and all others have the cursor before the batch, since each event may include changes since
    /// then. A subscriber that resumes in the middle of a batch gets the whole batch again.
    case record(LogRecord, cursor: Cursor)
    /// A domain's values at the position where the stream continues.
    ///
    /// As in a batch, only the last of these events has the cursor of that position.
    case initial(DomainSnapshot)
    /// The changes between two positions are no longer available; depending on the mode, the current values follow.
    case gap(from: Cursor, to: Cursor)
    /// Everything up to this position has been delivered.
    case bookmark(Cursor)
    /// The end of the stream: the subscriber was too slow for its mode.
    case ended

    /// Returns the values of domains as events.
    ///
    /// All but the last have the earlier cursor, so a subscriber can resume from any of them.
    package static func initial(_ snapshots: [DomainSnapshot], after before: Cursor = .ofNoLog) -> [StreamEvent] {
        snapshots.enumerated().map { index, snapshot in
            var snapshot = snapshot
            if index < snapshots.count - 1 { snapshot.cursor = before }
            return .initial(snapshot)
        }
    }
}

/// A domain's values in effect, at one position in the change log.
package struct DomainSnapshot: Hashable, Sendable {
    package var domain: Domain
    /// The domain's values in effect, which may have to be parsed first; see `FileValues`.
    package var values: DomainValues {
        get { stored.values }
        _modify { yield &stored.values }
    }
    private var stored: FileValues
    /// The position: `values` include every change up to it, and none after it.
    ///
    /// In a stream, only the last of several snapshots has it; see `StreamEvent`.
    package var cursor: Cursor
    /// The reason why the domain's file can't be used; `values` are then the last good ones, if there were any.
    package var damage: String?

    /// Whether there is nothing to show: no values, and no damage.
    package var isEmpty: Bool { stored.isEmpty && damage == nil }

    /// Returns a snapshot with the values of some keys; all values if `keys` is `nil`.
    package func only(_ keys: [String]?) -> DomainSnapshot {
        guard let keys else { return self }
        var snapshot = self
        let values = values
        snapshot.values = DomainValues(keys.compactMap { key in values[key].map { (key, $0) } }) { $1 }
        return snapshot
    }

    package init(domain: Domain, values: DomainValues, cursor: Cursor, damage: String? = nil) {
        self.init(domain: domain, values: FileValues(values), cursor: cursor, damage: damage)
    }

    init(domain: Domain, values: FileValues, cursor: Cursor, damage: String?) {
        self.domain = domain
        self.stored = values
        self.cursor = cursor
        self.damage = damage
    }
}
