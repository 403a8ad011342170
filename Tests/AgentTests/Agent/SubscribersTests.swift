import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// A thousand subscribers on one agent, some of which don't keep up.
@Suite("A thousand subscribers", .timeLimit(.minutes(5)))
struct SubscribersTests {
    private static let small = "org.example.small"
    private static let large = "org.example.large"
    /// The size of a large value, of which a socket holds only a few.
    private static let size = 100_000

    /// The events that one subscriber has seen: the values its records lead to, and the events that aren't records.
    private struct Seen {
        var values: [String: DomainValues] = [:]
        var revision: Revision = 0
        var records = 0
        var others: [String] = []

        /// Returns the last round seen in a domain.
        func round(_ domain: String) -> PropertyListValue? { values[domain]?["n"] }

        mutating func take(_ event: StreamEvent) {
            switch event {
            case .record(let record, let cursor):
                records += 1
                // In the mode `latest`, the first events of a batch carry the cursor before it.
                #expect(cursor.revision >= revision, "Records must come in order.")
                revision = cursor.revision
                guard case .change(let changeSet) = record.event else { return }
                let domain = changeSet.domain.name.description
                for change in changeSet.changes {
                    #expect(values[domain]?[change.key] == change.old, "The old value of \(change.key) must match.")
                    values[domain, default: [:]][change.key] = change.new
                }
            case .initial(let snapshot):
                values[snapshot.domain.name.description] = snapshot.values
                revision = snapshot.cursor.revision
            case .gap(let from, let to):
                #expect(from.revision == revision, "The gap must begin at the subscriber's cursor.")
                others.append("gap")
                values = [:]
                revision = to.revision
            case .bookmark(let cursor):
                others.append("bookmark")
                revision = cursor.revision
            case .ended: others.append("ended")
            }
        }
    }

    /// A subscriber that reads only when the test makes it read.
    private final class Subscriber {
        let client: RawClient
        var seen = Seen()

        init(_ agent: AgentProcess, _ mode: Subscription.Mode, domain: String? = nil, key: String? = nil) throws {
            client = try .greeted(agent.place.socket)
            var request: DomainValues = [
                "type": "subscribe", "request": 2, "from": "now", "mode": .string(mode.rawValue),
            ]
            request["domains"] = domain.map { .array([.string($0)]) }
            request["keys"] = key.map { .array([.string($0)]) }
            try client.send(request)
            while true {
                guard case .event(let event) = try next() else { continue }
                seen.take(event)
                if seen.others == ["bookmark"] { break }
            }
            seen.others = []
        }

        private func next() throws -> Message {
            guard let fields = try client.receive() else {
                throw TestSystemError("The agent has closed the connection")
            }
            return try NumberedMessage(Fields(fields)).message
        }

        /// Reads events until a condition holds.
        func read(until isEnough: (Seen) -> Bool) throws {
            while !isEnough(seen) {
                guard case .event(let event) = try next() else { continue }
                seen.take(event)
            }
        }
    }

    @Test("Each subscriber gets the keys that it asked for, whatever its mode")
    func oneRecord() throws {
        try AgentProcess.withAgent { agent in
            let editor = try agent.connect()
            let all = try Subscriber(agent, .everything)
            let first = try Subscriber(agent, .everything, key: "a")
            let second = try Subscriber(agent, .everything, key: "b")
            let last = try Subscriber(agent, .latest)
            for round in 1...20 as ClosedRange<Int64> {
                let domain = try Domain(DomainName(Self.small))
                try editor.edit(domain, with: ["a": .integer(round), "b": .integer(-round)], replacesAll: false)
            }
            try all.read { $0.records == 20 }
            try first.read { $0.records == 20 }
            try second.read { $0.records == 20 }
            try last.read { $0.values[Self.small]?["a"] == 20 }
            #expect(all.seen.values[Self.small] == ["a": 20, "b": -20])
            #expect(first.seen.values[Self.small] == ["a": 20])
            #expect(second.seen.values[Self.small] == ["b": -20])
            #expect(last.seen.values[Self.small] == ["a": 20, "b": -20])
            #expect(last.seen.revision == all.seen.revision)
        }
    }

    @Test("A subscriber that lags gets net changes from its own cursor, even next to one that is ahead")
    func netChanges() throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let editor = try agent.connect()
            let ahead = try Subscriber(agent, .latest, domain: Self.large)
            let behind = try Subscriber(agent, .latest, domain: Self.large)
            let domain = try Domain(DomainName(Self.large))
            for round in 1...8 as ClosedRange<Int64> {
                // So large that a socket can't hold one completely.
                let blob = PropertyListValue.data([UInt8](repeating: UInt8(round), count: 2 * Self.size))
                try editor.edit(domain, with: ["n": .integer(round), "blob": blob], replacesAll: false)
                try ahead.read { $0.round(Self.large) == .integer(round) }
            }
            try behind.read { $0.round(Self.large) == 8 }
            #expect(ahead.seen.records == 8)
            // It gets what was on its way, and then everything since as one change.
            #expect(behind.seen.records < 8)
        }
    }

    @Test("Subscribers that a change doesn't concern still advance, so that no answer waits for them")
    func movedOn() throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            for (number, domain) in ["a.b", "c.d"].enumerated() {
                try client.send([
                    "type": "subscribe", "request": .integer(Int64(number + 2)), "from": "now", "mode": "everything",
                    "domains": [.string(domain)], "keys": [],
                ])
            }
            var bookmarks = 0
            while bookmarks < 2 { if try client.answer() == "bookmark" { bookmarks += 1 } }
            try client.send([
                "type": "edit", "request": 4, "domain": "a.b", "set": ["k": "v"], "remove": [], "time": 0,
                "replaces": false,
            ])
            try client.send(["type": "synchronize", "request": 5])
            var answers: [String] = []
            while answers.last != "synchronized" { answers.append(try client.answer()) }
            #expect(answers.filter { $0 == "edited" || $0 == "change" } == ["change", "edited"])
        }
    }

    @Test(
        "A widened subscription gets the new domains' values and changes until it is narrowed"
    )
    func widened() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "c.d", "k", "1")
            let client = try RawClient.greeted(agent.place.socket)
            func next() throws -> String {
                let message = try client.receive() ?? [:]
                return ["type", "domain"].compactMap { key -> String? in
                    if case .string(let text)? = message[key] { text } else { nil }
                }.joined(separator: " ")
            }
            try client.send([
                "type": "subscribe", "request": 2, "from": "now", "mode": "everything", "domains": ["a.b"], "keys": [],
            ])
            try client.send(["type": "widen", "request": 3, "subscription": 2, "domains": ["c.d", "none"]])
            for expected in ["subscribed", "bookmark", "widened", "initial c.d", "bookmark"] {
                #expect(try next() == expected)
            }
            for domain in ["c.d", "e.f", "none", "a.b"] { try agent.defaults("write", domain, "k", "2") }
            for expected in ["change c.d", "change none", "change a.b"] { #expect(try next() == expected) }
            // A domain that is already followed is sent again with its values.
            try client.send(["type": "widen", "request": 4, "subscription": 2, "domains": ["c.d"]])
            for expected in ["widened", "initial c.d", "bookmark"] { #expect(try next() == expected) }
            try client.send(["type": "narrow", "request": 5, "subscription": 2, "domains": ["c.d", "never"]])
            #expect(try next() == "narrowed")
            for domain in ["c.d", "a.b"] { try agent.defaults("write", domain, "k", "3") }
            #expect(try next() == "change a.b")
            // A stream that has lost all its names does not follow all domains.
            try client.send(["type": "narrow", "request": 6, "subscription": 2, "domains": ["a.b", "none"]])
            #expect(try next() == "narrowed")
            try agent.defaults("write", "a.b", "k", "4")
            try client.send(["type": "synchronize", "request": 7])
            #expect(try next() == "synchronized")
        }
    }

    @Test("A thousand subscribers get what their modes promise while some stall, disconnect or lag")
    func crowd() throws {
        try Self.raiseLimit()
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let editor = try agent.connect()
            var round: Int64 = 0
            func go() throws {
                round += 1
                for step in 1...10 {
                    let blob = PropertyListValue.string(String(repeating: "x", count: Self.size) + "\(round) \(step)")
                    try editor.edit(
                        Domain(DomainName(Self.large)), with: ["n": .integer(round), "blob": blob], replacesAll: false)
                }
                try editor.edit(Domain(DomainName(Self.small)), with: ["n": .integer(round)], replacesAll: false)
            }
            let others = try (0..<990).map { _ in try Subscriber(agent, .everything, domain: Self.small) }
            let eager = try Subscriber(agent, .everything)
            // None of these reads while the changes are made.
            let slow = try [Subscription.Mode.latest, .everything].map { try Subscriber(agent, $0) }
            let slower = try Subscription.Mode.allCases.map { try Subscriber(agent, $0) }
            var leaving: Subscriber? = try Subscriber(agent, .everything)
            let stopped = try [Subscriber(agent, .everything), Subscriber(agent, .everything)]
            let before = try agent.residentKilobytes()

            // Fewer changes than the log holds.
            for _ in 0..<6 {
                try go()
                try eager.read { $0.round(Self.small) == .integer(round) }
                // One disconnects within a frame of its own and one of the agent's.
                try leaving?.client.send([0, 0, 1, 0, 0x62])
                leaving = nil
            }
            func check(_ subscriber: Subscriber, _ records: Int64) throws {
                try subscriber.read { $0.round(Self.small) == .integer(round) }
                #expect(subscriber.seen.records == Int(records))
                #expect(subscriber.seen.others == [])
            }
            for other in others { try check(other, round) }
            try check(eager, 11 * round)
            // A subscriber that lags within the log misses nothing. `latest` gets each key's net change.
            for (subscriber, mode) in zip(slow, [Subscription.Mode.latest, .everything]) {
                try subscriber.read {
                    $0.round(Self.small) == .integer(round) && $0.round(Self.large) == .integer(round)
                }
                #expect(subscriber.seen.others == [])
                let records = subscriber.seen.records
                #expect(mode == .latest ? records < 5 * round : records == 11 * round, "\(mode): \(records)")
            }

            // More changes than the log holds.
            for _ in 0..<15 {
                try go()
                try eager.read { $0.round(Self.small) == .integer(round) }
            }
            for other in others { try check(other, round) }
            try check(eager, 11 * round)
            for (subscriber, mode) in zip(slower, Subscription.Mode.allCases) {
                let last = mode == .disconnect ? "ended" : "bookmark"
                try subscriber.read { $0.others.last == last }
                #expect(subscriber.seen.others == ["gap", last], "\(mode)")
                #expect(subscriber.seen.records < 5 * round)
                if mode == .disconnect { continue }
                for domain in [Self.small, Self.large] {
                    #expect(subscriber.seen.round(domain) == .integer(round), "\(mode), \(domain)")
                }
            }
            // Five subscribers have left 20 MB each unread for most of the time. A buffer for each would take 100 MB
            // more, but all of them share the log.
            let growth = try agent.residentKilobytes() - before
            #expect(growth < 80_000, "\(growth) kB")
            // The status shows which subscribers lag.
            let lagging = try agent.status()["subscribers"].map(Self.lagging) ?? 0
            #expect(lagging == stopped.count + slow.count)
        }
    }

    private static func lagging(_ subscribers: PropertyListValue) -> Int {
        guard case .array(let subscribers) = subscribers else { return 0 }
        return subscribers.count { subscriber in
            guard case .dictionary(let fields) = subscriber else { return false }
            return fields["lag"] != 0
        }
    }

    private static func raiseLimit() throws {
        var limits = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        getrlimit(resource, &limits)
        try #require(limits.rlim_max >= 4_096, "The hard limit of open files is too low for this test")
        if limits.rlim_cur < 4_096 {
            limits.rlim_cur = 4_096
            setrlimit(resource, &limits)
        }
    }
}
