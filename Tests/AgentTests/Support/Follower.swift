import DefaultsClient
import DefaultsCore
import DefaultsKit
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// A subscriber that knows when it has received everything.
final class Follower {
    let connection: AgentConnection
    /// The cursor up to which everything has been received.
    private(set) var cursor: Cursor

    init(
        _ connection: AgentConnection, _ start: Subscription.Start, mode: Subscription.Mode = .everything
    ) throws {
        self.connection = connection
        let begun = try connection.subscribe(start, filter: SubscriptionFilter(), mode: mode)
        cursor =
            switch start {
            case .now: begun
            case .after(let place): place
            // Nothing counts as received before the bookmark that follows the values.
            case .snapshot: .ofNoLog
            }
    }

    /// Runs a body, and returns the events of everything that has happened by then, in the directory and in the agent.
    func events(_ body: () throws -> Void = {}) throws -> [StreamEvent] {
        try body()
        let end = try connection.barrier().cursor
        var events: [StreamEvent] = []
        while cursor.epoch != end.epoch || cursor.revision < end.revision {
            guard let event = try connection.nextEvent(within: 10_000) else {
                throw AgentProcess.AgentFailure(
                    description: "No event arrived for \(end), only up to \(cursor): \(events)")
            }
            switch event {
            case .record(_, let place), .bookmark(let place): cursor = place
            // The values and a bookmark follow.
            case .initial, .gap, .ended: break
            }
            if case .bookmark = event { continue }
            events.append(event)
        }
        return events
    }

    /// Runs a body, and returns the events as text, such as `domain: key old>new, … (source)` for a change set.
    func changes(_ body: () throws -> Void = {}) throws -> [String] {
        try events(body).map(Self.text)
    }

    /// Expects a body to cause certain events and no others.
    ///
    /// It replaces `#expect` around `changes`. The compiler gives a closure in a macro's argument the same name as one
    /// beside it, and then runs one of them in place of the other.
    func expect(
        _ expected: [String], at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void = {}
    ) throws {
        let changes = try changes(body)
        #expect(changes == expected, sourceLocation: location)
    }

    /// Runs a body, and returns the reasons of the events that report damage, and other events as text.
    func damages(_ body: () throws -> Void = {}) throws -> [String] {
        try events(body).map { event in
            guard case .record(let record, _) = event, case .damaged(_, let reason) = record.event else {
                return Self.text(event)
            }
            return reason
        }
    }

    /// Returns an event as text that is easy to compare.
    static func text(_ event: StreamEvent) -> String {
        switch event {
        case .record(let record, _):
            switch record.event {
            case .change(let changeSet):
                let changes = changeSet.changes.map { "\($0.key) \(text($0.old))>\(text($0.new))" }
                let lost = changeSet.overruled.map { "\($0.key) lost \(text($0.value)) of \(text($0.writer))" }
                return
                    "\(changeSet.domain.name): \((changes + lost).joined(separator: ", ")) (\(text(changeSet.source)))"
            case .damaged(let domain, _): return "\(domain.name): damaged"
            case .unsaved(let domain, _): return "\(domain.name): unsaved"
            case .recovered(let domain): return "\(domain.name): recovered"
            case .unknown(let domain, _): return "\(domain.name): unknown"
            }
        case .initial(let snapshot): return "\(snapshot.domain.name): initial"
        case .gap: return "gap"
        case .bookmark: return "bookmark"
        case .ended: return "ended"
        }
    }

    private static func text(_ value: PropertyListValue?) -> String {
        switch value {
        case nil: "-"
        case .string(let text)?: text
        case .integer(let number)?: "\(number)"
        case .boolean(let flag)?: "\(flag)"
        case let value?: "\(value)"
        }
    }

    private static func text(_ writer: Writer) -> String {
        switch writer {
        case .app: "app"
        case .file: "file"
        case .agent: "agent"
        }
    }
}

extension AgentProcess {
    /// Subscribes to the agent's changes, from now on unless another start is given.
    func follow(_ start: Subscription.Start = .now) throws -> Follower {
        try Follower(connect(), start)
    }
}
