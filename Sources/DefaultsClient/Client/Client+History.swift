package import DefaultsCore
import Linux

extension Client {
    /// Connects to the agent, which has the history, unless the domains exist only in memory.
    ///
    /// - Throws: `agentUnavailable` if there is no agent, or none may be used.
    fileprivate func historySource() throws(DefaultsError) -> any HistorySource {
        if unavailability == nil, let memory = MemoryHistory(self) { return memory }
        let place = try location.get()
        let need = "The history needs an agent."
        if Environment.current[BackendChoice.noAgentVariable] != nil {
            throw DefaultsError(.agentUnavailable, need, remedy: "Unset \(BackendChoice.noAgentVariable).")
        }
        let address = try place.address.get()
        if let agent = try AgentConnection.open(address, for: place.directory) { return agent }
        throw AgentAbsence(of: place.directory, at: address).error(need)
    }
}

/// A history that is read on the client's thread for it, a few records at a time.
package final class HistoryStream: Sendable {
    private let client: Client
    private let filter: SubscriptionFilter
    /// Held while the agent answers; only one thread reads at a time.
    private let reader = ForkSafeMutex<HistoryReader?>(nil)

    package init(_ client: Client, matching filter: SubscriptionFilter) {
        self.client = client
        self.filter = filter
    }

    /// A record and its position.
    package typealias Item = (record: LogRecord, cursor: Cursor)

    /// Reads the next records; returns an empty array at the beginning of the history.
    package func next() async -> Result<[Item], DefaultsError> {
        await client.historyCalls.result { [self] in
            reader.withLock { reader in
                Result { () throws(DefaultsError) in
                    var current =
                        if let reader { reader } else { try HistoryReader(client.historySource(), matching: filter) }
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
    /// Undoes a change set, without blocking the task's thread; see `UndoPlan`.
    package func takeBack(
        _ changeSet: ChangeSet, at cursor: Cursor, isRedo: Bool
    ) async -> Result<UndoPlan.Outcome, DefaultsError> {
        await historyCalls.result { [self] in
            Result { () throws(DefaultsError) in
                let source = try historySource()
                let outcome = try Self.takeBack(changeSet, at: cursor, isRedo: isRedo, with: source)
                try source.synchronize(changeSet.domain)
                return outcome
            }
        }
    }

    private static func takeBack(
        _ changeSet: ChangeSet, at cursor: Cursor, isRedo: Bool, with source: any HistorySource
    ) throws(DefaultsError) -> UndoPlan.Outcome {
        let domains = [GlobPattern.exactly(changeSet.domain.name.description)]
        // The numbers of another log say nothing about this change set.
        if cursor.epoch == source.end.epoch {
            var plan = try UndoPlan(
                source, of: SubscriptionFilter(domains: domains), finding: isRedo ? .undos : .changes)
            while let found = try plan.next(orNamed: { $0.revision == cursor.revision }),
                found.element.record.revision >= cursor.revision
            {
                if found.element.record.revision > cursor.revision { continue }
                try plan.take(found)
                var outcome = try plan.commit(changeSet.domain)
                // A value that was undone already may have been set again.
                for key in found.overtaken where outcome.kept[key] == nil { outcome.kept[key] = .some(nil) }
                return outcome
            }
        }
        // The change set isn't in the history, so that only the values decide. Nothing older is undone with it.
        var reach = UndoReach()
        for change in changeSet.changes { reach.oldest[change.key] = source.end.revision + 1 }
        return try source.takeBack(changeSet, for: isRedo ? .redo(cursor, reach) : .undo(cursor, reach))
    }
}
