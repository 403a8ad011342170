/// A request for a part of the history, newest first.
package struct HistoryRequest: Hashable, Sendable {
    package var filter: SubscriptionFilter
    /// The position before which to begin; `nil` for the end of the log.
    package var before: Cursor?
    /// The maximum number of records.
    package var limit: Int

    package init(filter: SubscriptionFilter = SubscriptionFilter(), before: Cursor? = nil, limit: Int = 100) {
        self.filter = filter
        self.before = before
        self.limit = limit
    }
}

/// A part of the history.
package struct HistoryPage: Hashable, Sendable {
    /// The records, newest first: those that pass the filter, without excluded keys.
    package var records: [LogRecord]
    /// The position before which to continue.
    ///
    /// At the oldest record of the change log, the files continue.
    package var next: Cursor
    /// Whether `next` is the oldest record of the change log.
    package var isEnd: Bool
    /// The path of the change log file, which may have older records; `nil` if the agent has none.
    package var log: String?
    /// The path of the archive, which has still older ones; `nil` if the agent has none.
    package var archive: String?
}

extension ChangeLog {
    /// The maximum number of records that are searched at a time.
    private static let searched: Revision = 4_096
    /// The approximate size in bytes of a page at which no more records are added.
    private static let pageSize = 1 << 20

    /// Returns the records before a position that pass a filter, newest first.
    ///
    /// - Parameters:
    ///   - request: The request; its cursor must have the log's epoch.
    ///   - exclusions: The keys to leave out.
    /// - Returns: The page; it may have fewer records than the limit although others follow.
    package func page(_ request: HistoryRequest, without exclusions: HistoryExclusions) -> HistoryPage {
        var page = HistoryPage(records: [], next: cursor, isEnd: false)
        var revision = min(request.before?.revision ?? head + 1, head + 1)
        let last = max(oldest, revision > Self.searched ? revision - Self.searched : 1)
        var size = 0
        while revision > last, page.records.count < request.limit, size < Self.pageSize {
            revision -= 1
            guard let record = self[revision] else { break }
            guard let wanted = request.filter.inHistory(exclusions.redact(record)) else { continue }
            page.records.append(wanted)
            size += wanted.estimatedSize
        }
        page.next = Cursor(epoch: epoch, revision: revision)
        page.isEnd = revision <= oldest
        return page
    }
}
