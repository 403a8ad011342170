package import DefaultsCore
import Linux

/// A reader of the history, newest record first.
///
/// It asks the agent for the records of the change log, and then reads older ones from the agent's files: first those
/// that the log has dropped, but its file hasn't yet, and then those in the archive.
package struct HistoryReader {
    private let source: any HistorySource
    private let filter: SubscriptionFilter
    private var page: HistoryPage?
    private var records: ArraySlice<LogRecord> = []
    /// The records in the files; `nil` until the agent has sent its own.
    private var older: AnyIterator<LogRecord>?
    private var hasReadArchive = false
    /// The revision of the last record returned, or of the first one that wasn't searched.
    private var revision = Revision.max
    /// The reason why the history lacks records: the agent has older ones in a file that can't be read, or some are
    /// `damaged`.
    package private(set) var problem: DefaultsError?
    /// The changes that the archive has lost by thinning, as far as it has been read.
    package private(set) var thinned = ThinnedChanges()

    /// The log's end as of the first request; cursors in the history have its epoch.
    package var end: Cursor { source.end }
    /// The epoch of the agent's log, which makes cursors of revisions.
    package var epoch: Epoch { page?.next.epoch ?? end.epoch }

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - source: The agent, or a client whose domains exist only in memory.
    ///   - filter: The domains and keys to read.
    /// - Throws: `agentRefused` if the agent is older than its clients and has no history.
    package init(_ source: any HistorySource, matching filter: SubscriptionFilter) throws(DefaultsError) {
        if let agent = source as? AgentConnection, let problem = Self.problem(with: agent) { throw problem }
        self.source = source
        self.filter = filter
    }

    /// Returns the error for an agent that is older than its clients and has no history; `nil` for any other.
    package static func problem(with agent: AgentConnection) -> DefaultsError? {
        if agent.welcome.protocolVersion >= 2 { return nil }
        return DefaultsError(
            .agentRefused,
            "The agent (version \(agent.welcome.version ?? "0.1")) is older than this program, and has no history.",
            remedy: "Restart it, for example with `systemctl --user restart defaultsd`.")
    }

    /// Returns the next record; `nil` at the beginning of the history, or of the part that can be read.
    package mutating func next() throws(DefaultsError) -> LogRecord? {
        while true {
            if let record = records.popFirst() { return record }
            if let older {
                if let record = older.next() {
                    revision = record.revision
                    if let wanted = filter.inHistory(record) { return wanted }
                } else if let archive = try dequeueArchive() {
                    self.older = records(in: archive, isArchive: true)
                } else {
                    return nil
                }
            } else if let page, page.isEnd {
                revision = page.next.revision
                older = page.log.map { records(in: $0, isArchive: false) } ?? AnyIterator { nil }
            } else {
                let page = try source.history(HistoryRequest(filter: filter, before: page?.next, limit: 500))
                records = page.records.filter { filter.includes($0.domain) }[...]
                self.page = page
            }
        }
    }

    /// Returns the path of the archive at the first call; `nil` later, or if there is none.
    private mutating func dequeueArchive() throws(DefaultsError) -> String? {
        defer { hasReadArchive = true }
        guard let page, !hasReadArchive else { return nil }
        if page.archive != nil || page.log == nil { return page.archive }
        // The first archive may have been made since the agent answered, of records that its log's file has lost.
        return try source.history(HistoryRequest(filter: filter, before: page.next, limit: 1)).archive
    }

    /// Returns the records in a file before the ones that have been searched.
    private mutating func records(in path: String, isArchive: Bool) -> AnyIterator<LogRecord> {
        do throws(SystemCall.Failure) {
            if !isArchive, let log = try RecoveredLog.read(from: path).log {
                if log.isDamaged { problem = Self.damaged(path) }
                return AnyIterator(log.records.prefix { $0.revision < revision }.reversed().makeIterator())
            }
            if isArchive, let file = try HistoryFile(reading: path) {
                if file.isDamaged { problem = Self.damaged(path) }
                thinned = file.thinned
                return AnyIterator(file.records(before: revision).makeIterator())
            }
            problem = Self.unreadable(path, errno: nil)
        } catch {
            problem = Self.unreadable(path, errno: error.number)
        }
        return AnyIterator { nil }
    }

    private static func damaged(_ path: String) -> DefaultsError {
        DefaultsError(.damaged, "A part of the history, \(path), is damaged, so some of its changes are missing.")
    }

    private static func unreadable(_ path: String, errno number: Int32?) -> DefaultsError {
        let problem = "The older part of the history, \(path), can't be read"
        guard let number else {
            return DefaultsError(
                .unreadable,
                "\(problem). The agent may run where paths lead to other files, such as outside of a container.")
        }
        return DefaultsError(.unreadable, errno: number, problem)
    }
}

extension AgentConnection: HistorySource {
    package var end: Cursor { welcome.cursor }

    package func history(_ request: HistoryRequest) throws(DefaultsError) -> HistoryPage {
        guard case .history(let page) = try answer(to: .history(request)) else { throw Self.unexpected("history") }
        return page
    }
}
