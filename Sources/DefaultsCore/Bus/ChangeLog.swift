/// The recent records, oldest first; the oldest are discarded when the records are too many or too large.
///
/// The log does no I/O and has no lock. `Store` holds it together with the domains, so that the log and the state that
/// it describes change in one step.
package struct ChangeLog: Sendable {
    /// The maximum size of a log.
    package struct Capacity: Hashable, Sendable {
        /// The maximum number of records.
        package var records: Int
        /// The approximate maximum size of keys and values, in bytes.
        ///
        /// The newest record is retained regardless of its size.
        package var bytes: Int

        package init(records: Int = 65_536, bytes: Int = 16 << 20) {
            self.records = max(1, records)
            self.bytes = max(1, bytes)
        }
    }

    /// The maximum size; a change takes effect with the next record.
    package var capacity: Capacity
    package private(set) var epoch: Epoch
    /// The revision of the newest record, even if that record isn't retained.
    package private(set) var head: Revision
    /// The retained records, from index `start` on; earlier ones have been discarded.
    private var retained: [(record: LogRecord, size: Int)?] = []
    private var start = 0
    private var bytes = 0

    /// Creates a log, or continues a recovered one.
    ///
    /// The records must have consecutive revisions. The head is the revision of the last record, or, without records,
    /// of the last record ever published.
    package init(
        capacity: Capacity = Capacity(), epoch: Epoch = .random(), head: Revision = 0, records: [LogRecord] = []
    ) {
        self.capacity = capacity
        self.epoch = epoch
        self.head = head
        for record in records { retain(record) }
    }

    /// The revision of the oldest retained record; `head + 1` if there is none.
    package var oldest: Revision { head + 1 - Revision(retained.count - start) }

    /// The cursor at the end of the log.
    package var cursor: Cursor { Cursor(epoch: epoch, revision: head) }

    /// Continues the log under a new epoch, which invalidates all earlier cursors.
    package mutating func beginEpoch() {
        epoch = .random()
    }

    /// Appends a record with the next revision.
    @discardableResult
    package mutating func append(
        _ event: LogRecord.Event, at time: Timestamp, madeAt made: Timestamp? = nil
    ) -> LogRecord {
        head += 1
        let record = LogRecord(revision: head, time: time, made: made, event: event)
        retain(record)
        return record
    }

    /// Returns the records after a revision, oldest first.
    ///
    /// - Parameters:
    ///   - revision: The revision after which to begin.
    ///   - limit: The maximum number of records.
    ///   - bytes: The approximate total size, in bytes, at which no more records are added.
    /// - Returns: The records, at least one if there is any; `nil` if some of them have already been discarded, or the
    ///   revision is after the head.
    package func records(after revision: Revision, limit: Int = .max, bytes: Int = .max) -> [LogRecord]? {
        guard revision <= head, revision >= oldest - 1 else { return nil }
        let count = Int(min(head - revision, Revision(clamping: limit)))
        let first = start + Int(revision + 1 - oldest)
        var end = first
        var size = 0
        while end < first + count, end == first || size < bytes {
            size += retained[end]?.size ?? 0
            end += 1
        }
        return retained[first..<end].compactMap { $0?.record }
    }

    /// The record with a revision; `nil` if it isn't retained.
    subscript(revision: Revision) -> LogRecord? {
        guard revision >= oldest, revision <= head else { return nil }
        return retained[start + Int(revision - oldest)]?.record
    }

    /// Returns the revision of the last change to a key, up to a revision; 0 if the log has none.
    func lastChange(of key: String, in domain: Domain, through revision: Revision = .max) -> Revision {
        retained[start...].last {
            guard let record = $0?.record, record.revision <= revision, record.domain == domain,
                let changeSet = record.changeSet
            else { return false }
            return changeSet.changes.contains { $0.key == key } || changeSet.mayHaveChanged(key)
        }??.record.revision ?? 0
    }

    private mutating func retain(_ record: LogRecord) {
        let size = record.estimatedSize
        retained.append((record, size))
        bytes += size
        while retained.count - start > 1, retained.count - start > capacity.records || bytes > capacity.bytes {
            bytes -= retained[start]?.size ?? 0
            retained[start] = nil
            start += 1
        }
        // Compact the array when half of its records have been discarded, so that each record is moved once on average.
        if start > 64, start > retained.count / 2 {
            retained.removeFirst(start)
            start = 0
        }
    }
}
