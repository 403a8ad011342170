import DefaultsClient
import DefaultsCore
import ProgramSupport

/// A follower of a trial's domain, which resumes from its cursor with each agent.
final class TrialFollower {
    private let domain: Domain
    private var connection: AgentConnection
    private var history: StreamHistory
    private let filter: SubscriptionFilter
    /// The cursor up to which everything has been received.
    private var cursor = Cursor.ofNoLog
    private var gaps = 0

    init(_ connection: AgentConnection, _ domain: Domain) throws {
        (self.connection, self.domain) = (connection, domain)
        filter = SubscriptionFilter(domains: [GlobPattern.exactly(domain.name.description)])
        history = StreamHistory(filter: filter, seesAll: false, mayBeTorn: true)
        _ = try connection.subscribe(.snapshot, filter: filter, mode: .everything)
    }

    /// Receives what the former agent has sent, and follows the next one from there.
    func resume(_ next: AgentConnection) throws {
        do { while let event = try connection.nextEvent(within: 0) { take(event) } } catch {}
        connection = next
        let start = cursor == .ofNoLog ? Subscription.Start.snapshot : .after(cursor)
        _ = try connection.subscribe(start, filter: filter, mode: .everything)
    }

    private func take(_ event: StreamEvent) {
        switch event {
        case .record(_, let place), .bookmark(let place): cursor = place
        // The bookmark after the values says where they are from.
        case .initial: break
        case .gap:
            gaps += 1
            history = StreamHistory(filter: filter, seesAll: false, mayBeTorn: true)
            return
        case .ended: break
        }
        history.take(event)
    }

    /// Receives everything up to the end of the log, and returns the breaches of the bus's promises.
    ///
    /// - Parameters:
    ///   - end: The end of the log.
    ///   - agent: The agent, which may be another one than before.
    ///   - isComplete: Whether the follower must not get a gap.
    ///   - isKept: Whether the log has discarded no records.
    /// - Returns: The breaches.
    /// - Throws: The reason why the agent can't be asked.
    func finish(at end: Cursor, _ agent: AgentProcess, isComplete: Bool, isKept: Bool) throws -> [String] {
        var attempts = 3
        // A log that can't be written continues under another epoch, which no event says before the next record.
        while cursor == .ofNoLog || cursor.revision < end.revision || cursor.epoch != end.epoch {
            do {
                // The last records may be of other domains. If others are missing, the values below are wrong.
                guard let event = try connection.nextEvent(within: 2_000) else { break }
                take(event)
            } catch {
                attempts -= 1
                if attempts == 0 { throw error }
                try resume(agent.connect())
            }
        }
        history.compare(with: try agent.connect().snapshot(of: domain).values)
        var findings = history.findings
        if isComplete, gaps > 0 { findings.append("it got \(gaps) gaps") }
        // The meaning of a cursor never changes.
        if isKept { findings += try history.resumption.findings { try records(after: $0, upTo: end, agent) } }
        return findings
    }

    private func records(after place: Cursor, upTo end: Cursor, _ agent: AgentProcess) throws -> [LogRecord] {
        let connection = try agent.connect()
        return try connection.records(after: place, upTo: end, matching: filter)
    }
}
