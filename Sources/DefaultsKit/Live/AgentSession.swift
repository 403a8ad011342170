import DefaultsCore
import Glibc

/// A session with an agent.
final class AgentSession: Session {
    let system: SystemDirectories
    private let connection: AgentConnection
    /// The stream of all names that are followed, by the number of the request that began it.
    private var stream: UInt64?
    private var names: Set<DomainName> = []
    /// The names that the stream has been asked for, and hasn't begun to bring: what comes of them meanwhile is old.
    private var expected: Set<DomainName> = []
    /// The names whose values come; they are whole with the next bookmark.
    private var arriving: Set<DomainName> = []
    /// The epoch of the agent's log, which knows which edits were already made.
    let epoch: Epoch
    /// Whether the agent has widened a stream: one that hasn't may be of an older version.
    private var hasWidened = false
    /// The requests that wait for an answer: those that wait for the disk, and all others.
    private var barriers = PendingRequests<(domains: Set<Domain>, round: UInt64)>()
    private var questions = PendingRequests<Question>()
    /// The conditional edits that have been sent and not answered, by their own numbers.
    private var commits = PendingRequests<UInt64>()
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
    var isObserved = false
    /// The silence, in milliseconds, after which an observed agent is asked whether it is still there.
    private let pulse: Int64
    /// Why the session is over; thrown when all that came before it has been taken, which may be an answer.
    private var loss: DefaultsError?
    /// What has come of requests that weren't sent.
    private var refusals: [SessionEvent] = []

    private enum Question {
        case subscription([DomainName])
        case widening([DomainName])
        case edit(UInt64)
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

    /// The number of messages, and of receptions of up to 64 KiB, that are taken before what has come of them is seen: an
    /// agent may send for ever.
    private static let mostMessages = 512
    private static let mostReceptions = 16
    /// Whether there is more to take at once.
    private var hasMore = false

    /// So many domains are asked for at once.
    private static let mostAtOnce = 32
    /// How long an agent may take to answer what needs no disk, in milliseconds, before it is done without.
    static let patience: Int64 = 5_000
    /// The same where it sends something else all the time.
    private static let longestPatience: Int64 = 120_000
    /// The same when the process ends, and waits for its edits to be taken.
    private static let lastPatience: Int64 = 1_000
    /// And what needs the disk.
    private static let diskPatience: Int64 = 60_000

    /// Takes over a connection.
    init(_ connection: AgentConnection, pulse: Int64) {
        self.connection = connection
        self.pulse = pulse
        self.system = connection.welcome.system
        self.epoch = connection.welcome.cursor.epoch
    }

    var awaited: pollfd { connection.awaited }

    var deadline: MonotonicTime? {
        refusals.isEmpty && !hasMore && loss == nil ? [nextRound, expiry, nextPulse].compactMap(\.self).min() : .now()
    }

    /// When the agent is to be asked whether it is there.
    private var nextPulse: MonotonicTime? {
        isObserved && questions.oldest == nil ? lastHeard + pulse : nil
    }

    /// When the agent counts as stuck.
    private var expiry: MonotonicTime? {
        // Requests behind a conditional edit wait for the disk, too.
        let isSaving = commits.oldest != nil
        let patience = handsOver ? Self.lastPatience : isSaving ? Self.diskPatience : Self.patience
        // An agent that has much to do, and does it, isn't stuck.
        return [
            questions.oldest.map { min(max($0, lastHeard) + patience, $0 + Self.longestPatience) },
            barriers.oldest.map { max($0, lastHeard) + Self.diskPatience },
            commits.oldest.map { max($0, lastHeard) + Self.diskPatience },
        ].compactMap(\.self).min()
    }

    // MARK: The stream

    func begin(_ start: SessionStart) throws(DefaultsError) {
        if let place = start.place, !start.resumed.isEmpty { try subscribe(.after(place), to: start.resumed) }
        try follow(start.followed)
    }

    func follow(_ new: [DomainName]) throws(DefaultsError) {
        if new.isEmpty { return }
        guard let stream else {
            try subscribe(.snapshot, to: new)
            arriving.formUnion(new)
            return
        }
        names.formUnion(new)
        expected.formUnion(new)
        arriving.subtract(new)
        try ask(.widen(stream, new), .widening(new))
    }

    func leave(_ gone: [DomainName]) throws(DefaultsError) {
        let followed = gone.filter { names.contains($0) }
        guard let stream, !followed.isEmpty else { return }
        names.subtract(followed)
        expected.subtract(followed)
        arriving.subtract(followed)
        // One of an older version refuses it; what it sends of them is passed over.
        try ask(.narrow(stream, followed), .other)
    }

    private func subscribe(_ start: Subscription.Start, to new: [DomainName]) throws(DefaultsError) {
        names.formUnion(new)
        let filter = SubscriptionFilter(domains: new.map { GlobPattern.exactly($0.description) })
        stream = try ask(.subscribe(start, filter, .everything), .subscription(new))
    }

    private func take(_ event: StreamEvent, _ events: inout [SessionEvent]) {
        switch event {
        case .record(let record, _): take(event, of: record.domain, &events)
        case .initial(let snapshot): take(event, of: snapshot.domain, &events)
        case .gap:
            arriving = names.subtracting(expected)
            events += arriving.map { .stream($0, event) }
        case .ended:
            stream = nil
            events += names.subtracting(expected).map { .stream($0, event) }
        case .bookmark(let cursor):
            events += arriving.map { .stream($0, event) }
            events.append(.reached(cursor))
            arriving = []
        }
    }

    private func take(_ event: StreamEvent, of domain: Domain, _ events: inout [SessionEvent]) {
        if names.contains(domain.name), !expected.contains(domain.name) { events.append(.stream(domain.name, event)) }
    }

    /// Takes that the agent doesn't add names to the stream.
    ///
    /// One of an older version can't: the stream begins again with all names. One that can has too many.
    private func refuse(
        _ new: [DomainName], _ error: DefaultsError, _ events: inout [SessionEvent]
    ) throws(DefaultsError) {
        guard !hasWidened, let old = stream else { return try readOnce(new, error, &events) }
        // It has begun again for other names already.
        if arriving.isSuperset(of: new) { return }
        try ask(.unsubscribe(old), .other)
        let (others, place) = (names.subtracting(expected), connection.welcome.cursor)
        events += others.map { .stream($0, .gap(from: place, to: place)) }
        expected = []
        arriving = names
        try subscribe(.snapshot, to: names.sorted())
    }

    /// Has the values of names sent once, whose changes the agent doesn't tell: who waits for them doesn't wait in vain.
    private func readOnce(
        _ refused: [DomainName], _ error: DefaultsError, _ events: inout [SessionEvent]
    ) throws(DefaultsError) {
        names.subtract(refused)
        expected.subtract(refused)
        arriving.subtract(refused)
        events.append(.trouble(error))
        for name in refused {
            events.append(.unfollowed(name))
            let domains = Domain.all(named: name, in: system)
            for domain in domains { try ask(.read(domain), .values(name, isLast: domain == domains.last)) }
        }
    }

    // MARK: Edits

    func edit(_ request: EditRequest) throws(DefaultsError) {
        let number = request.identity?.number ?? 0
        lastEdit = number
        do throws(DefaultsError) {
            try request.check()
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

    func commit(_ request: EditRequest) throws(DefaultsError) {
        let number = request.identity?.number ?? 0
        do throws(DefaultsError) {
            try request.check()
            commits.add(try send(.edit(request)), number)
        } catch {
            guard error.code == .invalidValue else { throw error }
            refusals.append(.committed(number, error))
        }
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
        for part in parts { try ask(part, for: lastRound) }
    }

    /// Asks whether some domains' edits are saved, for a round.
    private func ask(_ domains: Set<Domain>, for round: UInt64) throws(DefaultsError) {
        barriers.add(try send(.synchronize(domains)), (domains, round))
    }

    func look() {}

    func handOver() { handsOver = true }

    func end() {}

    func take() throws(DefaultsError) -> [SessionEvent] {
        var events = refusals
        refusals = []
        do throws(DefaultsError) {
            if loss == nil { try connection.flush() }
            try receive(&events)
            if loss == nil { try doWhatIsDue() }
        } catch {
            loss = loss ?? error
        }
        if let loss, events.isEmpty { throw loss }
        return events
    }

    /// Receives messages, up to a limit.
    private func receive(_ events: inout [SessionEvent]) throws(DefaultsError) {
        var (messages, receptions) = (0, 0)
        var hasReceived = true
        while hasReceived, messages < Self.mostMessages, receptions < Self.mostReceptions {
            while messages < Self.mostMessages, let message = try connection.nextMessage() {
                lastHeard = .now()
                messages += 1
                try take(message, &events)
            }
            if messages < Self.mostMessages { hasReceived = try connection.receive() }
            receptions += 1
        }
        hasMore = hasReceived
    }

    private func doWhatIsDue() throws(DefaultsError) {
        if let expiry, expiry <= .now() {
            let oldest = [questions.oldest, barriers.oldest, commits.oldest].compactMap(\.self).min()
            let since = max(oldest ?? lastHeard, lastHeard)
            throw connection.silence(of: MonotonicTime.now().milliseconds - since.milliseconds)
        }
        // It costs the agent nothing to end a stream that there is not.
        if let nextPulse, nextPulse <= .now() { try ask(.unsubscribe(0), .other) }
        if let due = nextRound, due <= .now() {
            nextRound = nil
            try beginRound(Set(unsaved.keys), for: nil)
        }
    }

    private func take(_ message: NumberedMessage, _ events: inout [SessionEvent]) throws(DefaultsError) {
        if case .event(let event) = message.message {
            if message.number == stream { take(event, &events) }
            return
        }
        if let (domains, round) = barriers.take(message.number) {
            switch message.message {
            case .synchronized(_, let failures): try note(failures, of: domains, round, &events)
            case .failure(let error): try note([error], of: domains, round, &events)
            default: break
            }
            return
        }
        if let number = commits.take(message.number) {
            if case .failure(let error) = message.message {
                events.append(.committed(number, error))
            } else {
                events.append(.committed(number, nil))
            }
            return
        }
        guard let question = questions.take(message.number) else { return }
        switch (question, message.message) {
        case (.edit(let number), .failure(let error)): events.append(.refused(number, error))
        case (.edit(let number), _): events.append(.accepted(number))
        case (.values(let name, let isLast), .values(let snapshot)):
            events.append(.stream(name, .initial(snapshot)))
            if isLast { events.append(.stream(name, .bookmark(snapshot.cursor))) }
        case (.subscription(let refused), .failure(let error)):
            if message.number == stream { stream = nil }
            try readOnce(refused, error, &events)
        case (.widening(let refused), .failure(let error)): try refuse(refused, error, &events)
        case (.widening(let new), .widened):
            hasWidened = true
            // Those that were left meanwhile aren't expected any more.
            let wanted = expected.intersection(new)
            expected.subtract(wanted)
            arriving.formUnion(wanted)
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
            for domain in domains.sorted() { try ask([domain], for: number) }
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
    private func ask(_ request: Request, _ question: Question) throws(DefaultsError) -> UInt64 {
        let number = try send(request)
        questions.add(number, question)
        return number
    }

    /// Sends a request; the loss of the connection is found when everything that came before has been taken.
    private func send(_ request: Request) throws(DefaultsError) -> UInt64 {
        do throws(DefaultsError) { return try connection.send(request) } catch {
            if error.code == .invalidValue { throw error }
            loss = loss ?? error
            return connection.lastNumber
        }
    }
}
