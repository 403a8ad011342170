package import DefaultsCore
import Glibc
import Linux

extension Client {
    /// Connects to the agent, which has the history.
    ///
    /// - Throws: `agentUnavailable` if there is no agent, or none may be used.
    package func connectToAgent() throws(DefaultsError) -> AgentConnection {
        let place = try location.get()
        let environment = Environment.current
        guard environment[BackendChoice.noAgentVariable] == nil,
            let agent = try AgentConnection.open(try place.address.get(), for: place.directory)
        else {
            throw DefaultsError(
                .agentUnavailable, "The history needs the agent, which isn't running. Start it with `defaultsd`.")
        }
        return agent
    }
}

/// A history that is read on a thread of its own, a few records at a time.
package final class HistoryStream: Sendable {
    private let client: Client
    private let filter: SubscriptionFilter
    /// Held while the agent answers; only one thread reads at a time.
    private let reader = ForkSafeMutex<HistoryReader?>(nil)

    package init(_ client: Client, _ filter: SubscriptionFilter) {
        self.client = client
        self.filter = filter
    }

    /// A record and its position.
    package typealias Item = (record: LogRecord, cursor: Cursor)

    /// Reads the next records; returns an empty array at the beginning of the history.
    package func next() async -> Result<[Item], DefaultsError> {
        await onThread { [self] in
            reader.withLock { reader in
                Result { () throws(DefaultsError) in
                    var current = if let reader { reader } else { try HistoryReader(client.connectToAgent(), filter) }
                    var items: [Item] = []
                    while items.count < 64, let record = try current.next() {
                        items.append((record, Cursor(epoch: current.epoch, revision: record.revision)))
                    }
                    reader = current
                    if items.isEmpty, let problem = current.problem { throw problem }
                    return items
                }
            }
        }
    }
}

extension Client {
    /// Takes back a change set on a thread of its own; see `UndoRun`.
    package func takeBack(
        _ changeSet: ChangeSet, at cursor: Cursor, isRedo: Bool
    ) async -> Result<UndoRun.Outcome, DefaultsError> {
        await onThread { [self] in
            Result { () throws(DefaultsError) in
                let agent = try connectToAgent()
                let found = try Self.find(changeSet, at: cursor, isRedo ? .undos : .changes, agent)
                let overtaken = found?.overtaken ?? []
                var changeSet = changeSet
                if let found {
                    // Nothing is left to do for the others, which have been taken back already.
                    let standing = overtaken.union(found.element.changeSet.changes.map(\.key))
                    changeSet.changes.removeAll { !standing.contains($0.key) }
                }
                var run = UndoRun(agent)
                let outcome = try run.takeBack(
                    changeSet, but: overtaken, for: isRedo ? .redo(cursor) : .undo(cursor))
                if let failure = try agent.barrier([changeSet.domain]).failures.first { throw failure }
                return outcome
            }
        }
    }
}

extension Client {
    /// Finds a change set in the history; `nil` if it isn't there, so that only the values decide.
    private static func find(
        _ changeSet: ChangeSet, at cursor: Cursor, _ subject: UndoSearch.Subject, _ agent: AgentConnection
    ) throws(DefaultsError) -> UndoSearch.Found? {
        let history = try HistoryReader(
            agent, SubscriptionFilter(domains: [GlobPattern.exactly(changeSet.domain.name.description)]))
        // The numbers of another log say nothing about this change set.
        guard cursor.epoch == history.epoch else { return nil }
        var search = UndoSearch(history, subject)
        while let found = try search.next(orNamed: { $0.revision == cursor.revision }) {
            if found.element.record.revision == cursor.revision { return found }
            if found.element.record.revision < cursor.revision { return nil }
        }
        return nil
    }
}

/// Runs a closure that blocks on a new thread, and suspends the task until it is done.
private func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () -> Result<Value, DefaultsError>
) async -> Result<Value, DefaultsError> {
    await withCheckedContinuation { continuation in
        if !DetachedThread.start({ continuation.resume(returning: body()) }) {
            continuation.resume(
                returning: .failure(DefaultsError(.agentUnavailable, errno: EAGAIN, "No thread can be started")))
        }
    }
}
