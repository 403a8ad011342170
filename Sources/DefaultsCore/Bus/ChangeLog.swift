/// The recent records, oldest first; the oldest are let go when there are too many or they are too large.
///
/// It does no I/O and has no lock; `Store` keeps it beside the domains, so that a record and the state it describes are
/// one step.
package struct ChangeLog: Sendable {
    /// How much is kept.
    package struct Capacity: Hashable, Sendable {
        /// The number of records.
        package var records: Int
        /// Bytes of keys and values, roughly.
        ///
        /// The newest record is kept whatever its size.
        package var bytes: Int

        package init(records: Int = 65_536, bytes: Int = 16 << 20) {
            self.records = max(1, records)
            self.bytes = max(1, bytes)
        }
    }

    /// How much is kept; a smaller one takes effect with the next record.
    package var capacity: Capacity
    package private(set) var epoch: Epoch
    /// The revision of the newest record, or of the last one let go.
    package private(set) var head: Revision
    /// The kept records, from `start` on; what is before is let go.
    private var kept: [(record: LogRecord, size: Int)?] = []
    private var start = 0
    private var bytes = 0

    /// Begins a log, or takes up one that was kept.
    ///
    /// The records have revisions that follow each other; the head is that of the last one, or of the last that was ever
    /// posted.
    package init(
        capacity: Capacity = Capacity(), epoch: Epoch = .random(), head: Revision = 0, records: [LogRecord] = []
    ) {
        self.capacity = capacity
        self.epoch = epoch
        self.head = head
        for record in records { keep(record) }
    }

    /// The revision of the oldest record that is kept, `head + 1` when there is none.
    package var oldest: Revision { head + 1 - Revision(kept.count - start) }

    /// Where the log ends now.
    package var cursor: Cursor { Cursor(epoch: epoch, revision: head) }

    /// Goes on under another epoch: places that were named before are none of this log's any more.
    package mutating func beginEpoch() {
        epoch = .random()
    }

    /// Adds a record under the next revision.
    @discardableResult
    package mutating func append(_ event: LogRecord.Event, at time: Timestamp) -> LogRecord {
        head += 1
        let record = LogRecord(revision: head, time: time, event: event)
        keep(record)
        return record
    }

    /// The records after a revision, oldest first.
    ///
    /// - Parameters:
    ///   - revision: the revision.
    ///   - limit: the most records.
    ///   - bytes: their size, roughly, above which no more are added.
    /// - Returns: the records, one at least if there is one; or `nil` when some of them are let go already.
    package func records(after revision: Revision, limit: Int = .max, bytes: Int = .max) -> [LogRecord]? {
        guard revision <= head, revision >= oldest - 1 else { return nil }
        let count = Int(min(head - revision, Revision(clamping: limit)))
        let first = start + Int(revision + 1 - oldest)
        var end = first
        var size = 0
        while end < first + count, end == first || size < bytes {
            size += kept[end]?.size ?? 0
            end += 1
        }
        return kept[first..<end].compactMap { $0?.record }
    }

    private mutating func keep(_ record: LogRecord) {
        let size = record.estimatedSize
        kept.append((record, size))
        bytes += size
        while kept.count - start > 1, kept.count - start > capacity.records || bytes > capacity.bytes {
            bytes -= kept[start]?.size ?? 0
            kept[start] = nil
            start += 1
        }
        // The array is moved together once half of it is let go, so that each record is moved once on average.
        if start > 64, start > kept.count / 2 {
            kept.removeFirst(start)
            start = 0
        }
    }
}
