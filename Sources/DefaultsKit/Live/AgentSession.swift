import DefaultsCore
import Glibc

/// A session with an agent.
final class AgentSession: Session {
    let system: SystemDirectories
    private let connection: AgentConnection
    /// The streams, by the number of the request that began each.
    private var names: [UInt64: DomainName] = [:]
    /// The requests that wait for an answer, oldest first.
    private var asked: [(number: UInt64, what: Asked, since: MonotonicTime)] = []
    /// The rounds of questions whether edits are saved that wait for answers.
    private var rounds: [UInt64: Round] = [:]
    private var lastRound: UInt64 = 0
    /// Whether the last round had failures.
    private var lastHasFailed = false
    /// The domains with edits that aren't known to be saved, and the last edit of each.
    private var unsaved: [Domain: UInt64] = [:]
    private var lastEdit: UInt64 = 0
    /// When the agent is to be asked next whether edits are saved.
    private var nextRound: MonotonicTime?
    /// Edits are saved by then, unless something is wrong: the agent's own limit is a second.
    private var pace = SavingPace(first: 1_200)
    /// When something last came.
    private var lastHeard = MonotonicTime.now()
    /// Whether the process ends.
    private var handsOver = false
    /// What has come of requests that weren't sent.
    private var refusals: [SessionEvent] = []

    private enum Asked {
        case subscription
        case edit(UInt64)
        /// Whether some domains' edits are saved, for a round.
        case barrier(Set<Domain>, round: UInt64)
        /// The values of one domain of a name that the agent won't tell changes of.
        case values(DomainName, isLast: Bool)
        case other
    }

    private struct Round {
        /// The caller's number, if someone waits for it.
        var number: UInt64?
        /// The last edit before it.
        var lastEdit: UInt64
        /// The answers that are still to come.
        var left: Int
        var failures: [DefaultsError] = []
    }

    /// So many domains are asked for at once.
    private static let mostAtOnce = 32
    /// How long an agent may take to answer what needs no disk, in milliseconds, before it is done without.
    static let patience: Int64 = 5_000
    /// The same when the process ends, and waits for its edits to be taken.
    private static let lastPatience: Int64 = 1_000
    /// And what needs the disk.
    private static let diskPatience: Int64 = 60_000

    /// Takes over a connection.
    init(_ connection: AgentConnection) {
        self.connection = connection
        self.system = connection.welcome.system
    }

    var awaited: pollfd { connection.awaited }

    var deadline: MonotonicTime? {
        refusals.isEmpty ? [nextRound, expiry].compactMap(\.self).min() : .now()
    }

    /// When the agent counts as stuck.
    private var expiry: MonotonicTime? {
        guard let first = asked.first else { return nil }
        // Behind what waits for the disk there may be what doesn't.
        let other = asked.first { if case .barrier = $0.what { false } else { true } }
        let patience = handsOver ? Self.lastPatience : Self.patience
        // An agent that has much to do, and does it, isn't stuck.
        return [
            other.map { max($0.since, lastHeard) + patience }, max(first.since, lastHeard) + Self.diskPatience,
        ].compactMap(\.self).min()
    }

    func subscribe(to name: DomainName, _ start: Subscription.Start) throws(DefaultsError) {
        // A stream of the name that was begun before is ended.
        for (number, _) in names.filter({ $1 == name }) {
            names[number] = nil
            try ask(.unsubscribe(number), .other)
        }
        let filter = SubscriptionFilter(domains: [GlobPattern.exactly(name.description)])
        names[try ask(.subscribe(start, filter, .everything), .subscription)] = name
    }

    func edit(_ request: EditRequest) throws(DefaultsError) {
        let number = request.identity?.number ?? 0
        lastEdit = number
        do throws(DefaultsError) {
            try ask(.edit(request), .edit(number))
        } catch {
            // What can't be sent would end every session; what it replaces may be what makes it so large.
            guard error.code == .invalidValue else { throw error }
            var request = request
            if request.replacing != nil {
                request.replacing = nil
                try edit(request)
            } else {
                refusals.append(.refused(number, error))
            }
            return
        }
        unsaved[request.domain] = number
        if nextRound == nil { nextRound = .now() + pace.pause }
    }

    func synchronize(_ domains: [Domain], _ number: UInt64) throws(DefaultsError) {
        let domains = Set(domains).union(unsaved.keys)
        if domains.isEmpty { refusals.append(.synchronized(number, failures: [])) }
        try beginRound(domains, for: number)
    }

    private func beginRound(_ domains: Set<Domain>, for number: UInt64?) throws(DefaultsError) {
        if domains.isEmpty { return }
        lastRound += 1
        // Where something couldn't be saved, it is told of each domain by itself whether it can. And none of many domains
        // waits for so many others that the agent seems stuck.
        let size = lastHasFailed ? 1 : Self.mostAtOnce
        let sorted = domains.sorted()
        let parts = stride(from: 0, to: sorted.count, by: size).map { Set(sorted[$0...].prefix(size)) }
        rounds[lastRound] = Round(number: number, lastEdit: lastEdit, left: parts.count)
        for part in parts { try ask(.synchronize(part), .barrier(part, round: lastRound)) }
    }

    func look() {}

    func handOver() { handsOver = true }

    func end() {}

    func take() throws(DefaultsError) -> [SessionEvent] {
        var events = refusals
        refusals = []
        try connection.flush()
        repeat {
            while let message = try connection.nextMessage() {
                lastHeard = .now()
                try take(message, &events)
            }
        } while try connection.receive()
        if let expiry, expiry <= .now() {
            let since = max(asked.first?.since ?? lastHeard, lastHeard)
            throw connection.silence(of: MonotonicTime.now().milliseconds - since.milliseconds)
        }
        if let due = nextRound, due <= .now() {
            nextRound = nil
            try beginRound(Set(unsaved.keys), for: nil)
        }
        return events
    }

    /// Has a name's values sent once, where a stream of them was refused: who waits for them doesn't wait in vain.
    private func read(_ name: DomainName) throws(DefaultsError) {
        let domains = Domain.all(named: name, in: system)
        for domain in domains { try ask(.read(domain), .values(name, isLast: domain == domains.last)) }
    }

    private func take(_ message: NumberedMessage, _ events: inout [SessionEvent]) throws(DefaultsError) {
        if case .event(let event) = message.message {
            if let name = names[message.number] { events.append(.stream(name, event)) }
            return
        }
        guard let index = asked.firstIndex(where: { $0.number == message.number }) else { return }
        switch (asked.remove(at: index).what, message.message) {
        case (.edit(let number), .failure(let error)): events.append(.refused(number, error))
        case (.edit(let number), _): events.append(.accepted(number))
        case (.barrier(let domains, let round), .synchronized(_, let failures)):
            try note(failures, of: domains, round, &events)
        case (.barrier(let domains, let round), .failure(let error)):
            try note([error], of: domains, round, &events)
        case (.values(let name, let isLast), .values(let snapshot)):
            events.append(.stream(name, .initial(snapshot)))
            if isLast { events.append(.stream(name, .bookmark(snapshot.cursor))) }
        case (.subscription, .failure(let error)):
            events.append(.trouble(error))
            if let name = names.removeValue(forKey: message.number) { try read(name) }
        default: break
        }
    }

    /// Takes one answer of a round.
    private func note(
        _ failures: [DefaultsError], of domains: Set<Domain>, _ number: UInt64, _ events: inout [SessionEvent]
    ) throws(DefaultsError) {
        guard var round = rounds.removeValue(forKey: number) else { return }
        round.left -= 1
        if failures.isEmpty {
            for domain in domains {
                if let last = unsaved[domain], last <= round.lastEdit { unsaved[domain] = nil }
                events.append(.saved(domain, round.lastEdit))
            }
        } else if domains.count > 1 {
            // Which of them can't be saved, each can tell for itself.
            for domain in domains.sorted() { try ask(.synchronize([domain]), .barrier([domain], round: number)) }
            round.left += domains.count
        } else {
            round.failures += failures
        }
        guard round.left == 0 else {
            rounds[number] = round
            return
        }
        lastHasFailed = !round.failures.isEmpty
        events += pace.note(round.failures)
        nextRound = unsaved.isEmpty ? nil : .now() + pace.pause
        if let caller = round.number { events.append(.synchronized(caller, failures: round.failures)) }
    }

    @discardableResult
    private func ask(_ request: Request, _ what: Asked) throws(DefaultsError) -> UInt64 {
        let number = try connection.send(request)
        asked.append((number, what, .now()))
        return number
    }
}
