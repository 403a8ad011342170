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
    /// The domains with edits that aren't known to be saved, and the last edit of each.
    private var unsaved: [Domain: UInt64] = [:]
    private var lastEdit: UInt64 = 0
    /// When the agent is to be asked next whether edits are saved.
    private var nextRound: MonotonicTime?
    private var pause = firstPause
    /// What couldn't be saved, told once.
    private var troubles: Set<DefaultsError> = []

    private enum Asked {
        case subscription
        case edit(UInt64)
        /// Whether one domain's edits are saved, for a round.
        case barrier(UInt64)
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

    /// Edits are saved by then, unless something is wrong: the agent's own limit is a second.
    private static let firstPause: Int64 = 1_200
    private static let lastPause: Int64 = 60_000
    /// How long an agent may take to answer what needs no disk, in milliseconds, before it is done without.
    static let patience: Int64 = 5_000
    /// And what needs the disk.
    private static let diskPatience: Int64 = 60_000

    /// Takes over a connection.
    init(_ connection: AgentConnection) {
        self.connection = connection
        self.system = connection.welcome.system
    }

    var awaited: pollfd { connection.awaited }

    var deadline: MonotonicTime? { [nextRound, expiry].compactMap(\.self).min() }

    /// When the agent counts as stuck.
    private var expiry: MonotonicTime? {
        guard let first = asked.first else { return nil }
        if case .barrier = first.what { return first.since + Self.diskPatience }
        return first.since + Self.patience
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
        unsaved[request.domain] = number
        if nextRound == nil { nextRound = .now() + pause }
        try ask(.edit(request), .edit(number))
    }

    func synchronize(_ domains: [Domain], _ number: UInt64) throws(DefaultsError) {
        try beginRound(Set(domains).union(unsaved.keys).sorted(), for: number)
    }

    private func beginRound(_ domains: [Domain], for number: UInt64?) throws(DefaultsError) {
        lastRound += 1
        rounds[lastRound] = Round(number: number, lastEdit: lastEdit, left: domains.count)
        for domain in domains { try ask(.synchronize(domain), .barrier(lastRound)) }
    }

    func look() {}

    func end() {}

    func take() throws(DefaultsError) -> [SessionEvent] {
        var events: [SessionEvent] = []
        try connection.flush()
        repeat {
            while let message = try connection.nextMessage() { take(message, &events) }
        } while try connection.receive()
        if let expiry, expiry <= .now() {
            throw DefaultsError(
                .agentUnavailable, "The agent (pid \(connection.welcome.pid)) has not answered for too long.")
        }
        if let due = nextRound, due <= .now() {
            nextRound = nil
            try beginRound(unsaved.keys.sorted(), for: nil)
        }
        return events
    }

    private func take(_ message: NumberedMessage, _ events: inout [SessionEvent]) {
        if case .event(let event) = message.message {
            if let name = names[message.number] { events.append(.stream(name, event)) }
            return
        }
        guard let index = asked.firstIndex(where: { $0.number == message.number }) else { return }
        switch (asked.remove(at: index).what, message.message) {
        case (.edit(let number), .failure(let error)): events.append(.refused(number, error))
        case (.edit(let number), _): events.append(.accepted(number))
        case (.barrier(let round), .synchronized(_, let failures)):
            note(failures.map { DefaultsError(.notSaved, $0) }, of: round, &events)
        case (.barrier(let round), .failure(let error)):
            note([error], of: round, &events)
        case (.subscription, .failure(let error)):
            events.append(.trouble(error))
        default: break
        }
    }

    /// Takes one answer of a round.
    private func note(_ failures: [DefaultsError], of number: UInt64, _ events: inout [SessionEvent]) {
        guard var round = rounds.removeValue(forKey: number) else { return }
        round.left -= 1
        round.failures += failures
        guard round.left == 0 else {
            rounds[number] = round
            return
        }
        if round.failures.isEmpty {
            unsaved = unsaved.filter { $1 > round.lastEdit }
            pause = Self.firstPause
            troubles = []
            events.append(.saved(round.lastEdit))
        } else {
            for failure in round.failures where troubles.insert(failure).inserted { events.append(.trouble(failure)) }
            pause = min(pause * 2, Self.lastPause)
        }
        nextRound = unsaved.isEmpty ? nil : .now() + pause
        if let caller = round.number { events.append(.synchronized(caller, failures: round.failures)) }
    }

    @discardableResult
    private func ask(_ request: Request, _ what: Asked) throws(DefaultsError) -> UInt64 {
        let number = try connection.send(request)
        asked.append((number, what, .now()))
        return number
    }
}
