package import DefaultsCore
import Linux

/// A reader of the history, newest record first: the agent's change log, and then the archive.
package struct HistoryReader {
    private let agent: AgentConnection
    private let filter: SubscriptionFilter
    private var page: HistoryPage?
    private var records: ArraySlice<LogRecord> = []
    private var archived: AnyIterator<LogRecord>?
    /// The epoch of the agent's log, which makes cursors of revisions.
    package var epoch: Epoch { agent.welcome.cursor.epoch }

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - agent: The agent.
    ///   - filter: The domains and keys to read.
    /// - Throws: `agentRefused` if the agent is older than its clients and has no history.
    package init(_ agent: AgentConnection, _ filter: SubscriptionFilter) throws(DefaultsError) {
        guard agent.welcome.protocolVersion >= 2 else {
            throw DefaultsError(
                .agentRefused,
                "The agent (version \(agent.welcome.version ?? "0.1")) is older than this program, and has no history. "
                    + "Restart it, for example with `systemctl --user restart defaultsd`.")
        }
        self.agent = agent
        self.filter = filter
    }

    /// Returns the next record; `nil` at the beginning of the history.
    package mutating func next() throws(DefaultsError) -> LogRecord? {
        while true {
            if let record = records.popFirst() { return record }
            if let archived {
                guard let record = archived.next() else { return nil }
                if let wanted = filter(record) { return wanted }
            } else if page?.isEnd == true {
                archived = try openArchive()
            } else {
                let page = try agent.history(HistoryRequest(filter: filter, before: page?.next, limit: 500))
                records = page.records[...]
                self.page = page
            }
        }
    }

    private func openArchive() throws(DefaultsError) -> AnyIterator<LogRecord> {
        guard let page, let path = page.archive else { return AnyIterator { nil } }
        do throws(SystemCall.Failure) {
            guard let file = try HistoryFile(reading: path) else { return AnyIterator { nil } }
            return AnyIterator(file.records(before: page.next.revision).makeIterator())
        } catch {
            throw DefaultsError(
                .unreadable, errno: error.number, "The older part of the history, \(path), can't be read")
        }
    }
}

extension AgentConnection {
    /// Reads a part of the agent's change log, newest first.
    fileprivate func history(_ request: HistoryRequest) throws(DefaultsError) -> HistoryPage {
        guard case .history(let page) = try answer(to: .history(request)) else { throw Self.unexpected("history") }
        return page
    }
}
