import DefaultsCore
import Glibc
import Linux

/// A session with an agent.
final class AgentSession: Session {
    let system: SystemDirectories
    /// The connection, whose socket the session uses without waiting.
    private let connection: AgentConnection
    /// The number of the request that began the stream of all followed names.
    private var stream: UInt64?
    private var names: Set<DomainName> = []
    /// The requested names that the stream doesn't include yet; any events for them until then are outdated.
    private var expected: Set<DomainName> = []
    /// The names whose values are arriving; the next bookmark completes them.
    private var arriving: Set<DomainName> = []
    /// The epoch of the agent's log, which tells which edits have already been made.
    let epoch: Epoch
    /// Whether the agent has widened a stream; an older agent can't.
    private var hasWidened = false
    /// The unanswered requests that wait for the disk.
    private var barriers = PendingRequests<SaveChecks.Part>()
    /// All other unanswered requests except conditional edits.
    private var questions = PendingRequests<Question>()
    /// The unanswered conditional edits; the purpose is the edit's own number.
    private var commits = PendingRequests<UInt64>()
    /// The edits that may not be saved yet, and the rounds of requests that check this.
    private var saveChecks = SaveChecks()
    /// The time at which the last message arrived.
    private var lastHeard = MonotonicTime.now()
    /// Whether the process is about to end.
    private var isExiting = false
    /// Whether changes are observed.
    ///
    /// If so, the session must notice when none can arrive anymore.
    var isObserved = false
    /// The silence, in milliseconds, after which an observed agent is asked whether it is still there.
    private let keepAliveInterval: Int64
    /// The reason why the session has ended.
    ///
    /// It is thrown only after everything that arrived earlier, possibly including answers, has been received.
    private var failure: DefaultsError?
    /// The reason why requests can't be sent anymore, and since when.
    ///
    /// An agent that is ending answers what it has received before it closes the connection. Until then, the session
    /// lasts, so that no outcome is unknown that will be known in a moment.
    private var sendingFailure: (error: DefaultsError, since: MonotonicTime)?
    /// The outcomes of requests that weren't sent.
    private var localEvents: [SessionEvent] = []

    /// The purpose of a request.
    private enum Question {
        case subscription([DomainName])
        case widening([DomainName])
        case edit(UInt64)
        /// The values of one domain of a name that the agent refuses to follow.
        case values(DomainName, isLast: Bool)
        case other
    }

    /// The maximum number of messages that one call receives, since an agent may send them endlessly.
    private static let maximumMessages = 512
    /// The maximum number of reads, of up to 64 KiB each, in one call.
    private static let maximumReceptions = 16
    /// Whether there may be more to receive without waiting.
    private var hasMore = false

    /// Creates a session that takes ownership of a connection.
    init(_ connection: AgentConnection, keepAliveInterval: Int64) {
        self.connection = connection
        self.keepAliveInterval = keepAliveInterval
        self.system = connection.welcome.system
        self.epoch = connection.welcome.cursor.epoch
    }

    /// The descriptor and the events to `poll` for.
    var awaited: pollfd { connection.socket.awaited }

    var deadline: MonotonicTime? {
        localEvents.isEmpty && !hasMore && failure == nil
            ? [saveChecks.next, expiry, nextKeepAlive].compactMap(\.self).min() : .now()
    }

    /// The time at which to ask the agent whether it is still there.
    private var nextKeepAlive: MonotonicTime? {
        isObserved && questions.oldest == nil ? lastHeard + keepAliveInterval : nil
    }

    /// The time at which the agent counts as hung.
    private var expiry: MonotonicTime? {
        // Requests after a conditional edit also wait for the disk.
        let isSaving = commits.oldest != nil
        let timeout =
            isExiting ? AgentTimeouts.exitSession : isSaving ? AgentTimeouts.diskSession : AgentTimeouts.session
        // A busy agent that keeps sending isn't hung.
        return [
            sendingFailure.map { max($0.since, lastHeard) + timeout },
            questions.oldest.map { min(max($0, lastHeard) + timeout, $0 + AgentTimeouts.maximumSession) },
            barriers.oldest.map { max($0, lastHeard) + AgentTimeouts.diskSession },
            commits.oldest.map { max($0, lastHeard) + AgentTimeouts.diskSession },
        ].compactMap(\.self).min()
    }

    // MARK: The stream

    func begin(_ start: SessionStart) throws(DefaultsError) {
        if let cursor = start.cursor, !start.resumed.isEmpty { try subscribe(.after(cursor), to: start.resumed) }
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
        try ask(.widen(stream, new), about: .widening(new))
    }

    func leave(_ gone: [DomainName]) throws(DefaultsError) {
        let followed = gone.filter { names.contains($0) }
        guard let stream, !followed.isEmpty else { return }
        names.subtract(followed)
        expected.subtract(followed)
        arriving.subtract(followed)
        // If an older agent refuses, its events for these names are ignored.
        try ask(.narrow(stream, followed), about: .other)
    }

    private func subscribe(_ start: Subscription.Start, to new: [DomainName]) throws(DefaultsError) {
        names.formUnion(new)
        let filter = SubscriptionFilter(domains: new.map { GlobPattern.exactly($0.description) })
        stream = try ask(.subscribe(start, filter, .everything), about: .subscription(new))
    }

    private func handle(_ event: StreamEvent, into events: inout [SessionEvent]) {
        switch event {
        case .record(let record, _): handle(event, of: record.domain, into: &events)
        case .initial(let snapshot): handle(event, of: snapshot.domain, into: &events)
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

    private func handle(_ event: StreamEvent, of domain: Domain, into events: inout [SessionEvent]) {
        if names.contains(domain.name), !expected.contains(domain.name) { events.append(.stream(domain.name, event)) }
    }

    /// Handles the agent's refusal to add names to the stream.
    ///
    /// An older agent can't widen streams, so a new stream begins with all names. An agent that can widen them has
    /// reached its limit of names.
    private func refuse(
        _ new: [DomainName], after error: DefaultsError, into events: inout [SessionEvent]
    ) throws(DefaultsError) {
        guard !hasWidened, let old = stream else { return try readOnce(new, after: error, into: &events) }
        // A new stream with these names has already begun, because the agent refused others.
        if arriving.isSuperset(of: new) { return }
        try ask(.unsubscribe(old), about: .other)
        let (others, cursor) = (names.subtracting(expected), connection.welcome.cursor)
        events += others.map { .stream($0, .gap(from: cursor, to: cursor)) }
        expected = []
        arriving = names
        try subscribe(.snapshot, to: names.sorted())
    }

    /// Requests, once, the values of names that the agent refuses to follow, so that callers don't wait forever.
    private func readOnce(
        _ refused: [DomainName], after error: DefaultsError, into events: inout [SessionEvent]
    ) throws(DefaultsError) {
        names.subtract(refused)
        expected.subtract(refused)
        arriving.subtract(refused)
        events.append(.trouble(error))
        for name in refused {
            events.append(.unfollowed(name))
            let domains = Domain.all(named: name, in: system)
            for domain in domains { try ask(.read(domain), about: .values(name, isLast: domain == domains.last)) }
        }
    }

    // MARK: Edits

    func edit(_ request: EditRequest) throws(DefaultsError) {
        let number = request.identity?.number ?? 0
        do throws(DefaultsError) {
            try request.check()
            try ask(.edit(request), about: .edit(number))
        } catch {
            // The replaced values are optional, and may be what makes the edit too large. An edit that is too large
            // even without them is refused here, since it would end every session.
            guard error.code == .invalidValue else { throw error }
            var request = request
            if request.replacing != nil {
                request.replacing = nil
                try edit(request)
            } else {
                localEvents.append(.refused(number, error))
            }
            return
        }
        saveChecks.add(number, of: request.domain, at: .now())
    }

    func commit(_ request: EditRequest) throws(DefaultsError) {
        let number = request.identity?.number ?? 0
        do throws(DefaultsError) {
            try request.check()
            commits.add(try send(.edit(request)), for: number)
        } catch {
            guard error.code == .invalidValue else { throw error }
            localEvents.append(.committed(number, error))
        }
    }

    func synchronize(_ domains: [Domain], as number: UInt64) throws(DefaultsError) {
        let domains = Set(domains).union(saveChecks.unsaved)
        if domains.isEmpty { localEvents.append(.synchronized(number, failures: [])) }
        try ask(saveChecks.beginRound(domains, for: number))
    }

    /// Asks the agent whether the edits of some domains are saved.
    private func ask(_ parts: [SaveChecks.Part]) throws(DefaultsError) {
        for part in parts { barriers.add(try send(.synchronize(part.domains)), for: part) }
    }

    func handOver() { isExiting = true }

    func receiveEvents() throws(DefaultsError) -> [SessionEvent] {
        var events = localEvents
        localEvents = []
        do throws(DefaultsError) {
            if failure == nil, sendingFailure == nil { flush() }
            try receive(&events)
            if failure == nil { try performDueWork() }
        } catch {
            failure = failure ?? sendingFailure?.error ?? error
        }
        if let failure, events.isEmpty { throw failure }
        return events
    }

    private func flush() {
        do throws(DefaultsError) { try connection.socket.flush() } catch { sendingFailure = (error, .now()) }
    }

    /// Receives messages, up to a limit.
    private func receive(_ events: inout [SessionEvent]) throws(DefaultsError) {
        var (messages, receptions) = (0, 0)
        var hasReceived = true
        while hasReceived, messages < Self.maximumMessages, receptions < Self.maximumReceptions {
            while messages < Self.maximumMessages, let message = try connection.socket.next() {
                lastHeard = .now()
                messages += 1
                try handle(message, into: &events)
            }
            if messages < Self.maximumMessages { hasReceived = try connection.socket.receive() }
            receptions += 1
        }
        hasMore = hasReceived
    }

    private func performDueWork() throws(DefaultsError) {
        if let expiry, expiry <= .now() {
            let oldest = [questions.oldest, barriers.oldest, commits.oldest].compactMap(\.self).min()
            let since = max(oldest ?? lastHeard, lastHeard)
            throw connection.process.silence(of: MonotonicTime.now().milliseconds - since.milliseconds)
        }
        // As a keep-alive, ask to end a nonexistent stream, which the agent answers at no cost.
        if let nextKeepAlive, nextKeepAlive <= .now() { try ask(.unsubscribe(0), about: .other) }
        if saveChecks.dequeueDue(at: .now()) { try ask(saveChecks.beginRound(saveChecks.unsaved, for: nil)) }
    }

    private func handle(_ message: NumberedMessage, into events: inout [SessionEvent]) throws(DefaultsError) {
        if case .event(let event) = message.message {
            if message.number == stream { handle(event, into: &events) }
            return
        }
        if message.number == 0 {
            // If the connection is lost, this is why the agent closed it.
            if case .failure(let error) = message.message { sendingFailure?.error = error }
            return
        }
        if let part = barriers.remove(message.number) {
            let failures: [DefaultsError]
            switch message.message {
            case .synchronized(_, let found): failures = found
            case .failure(let error): failures = [error]
            default: return
            }
            try ask(saveChecks.record(failures, of: part, at: .now(), into: &events))
            return
        }
        if let number = commits.remove(message.number) {
            if case .failure(let error) = message.message {
                events.append(.committed(number, error))
            } else {
                events.append(.committed(number, nil))
            }
            return
        }
        guard let question = questions.remove(message.number) else { return }
        switch (question, message.message) {
        case (.edit(let number), .failure(let error)): events.append(.refused(number, error))
        case (.edit(let number), _): events.append(.accepted(number))
        case (.values(let name, let isLast), .values(let snapshot)):
            events.append(.stream(name, .initial(snapshot)))
            if isLast { events.append(.stream(name, .bookmark(snapshot.cursor))) }
        case (.subscription(let refused), .failure(let error)):
            if message.number == stream { stream = nil }
            try readOnce(refused, after: error, into: &events)
        case (.widening(let refused), .failure(let error)): try refuse(refused, after: error, into: &events)
        case (.widening(let new), .widened):
            hasWidened = true
            // Names that are no longer followed aren't expected anymore.
            let wanted = expected.intersection(new)
            expected.subtract(wanted)
            arriving.formUnion(wanted)
        default: break
        }
    }

    @discardableResult
    private func ask(_ request: Request, about question: Question) throws(DefaultsError) -> UInt64 {
        let number = try send(request)
        questions.add(number, for: question)
        return number
    }

    /// Sends a request.
    ///
    /// The error of a lost connection is thrown only after everything that the agent has sent has been received.
    private func send(_ request: Request) throws(DefaultsError) -> UInt64 {
        if sendingFailure != nil { return connection.socket.lastNumber }
        do throws(DefaultsError) { return try connection.socket.send(request) } catch {
            if error.code == .invalidValue { throw error }
            sendingFailure = (error, .now())
            return connection.socket.lastNumber
        }
    }
}
