import CFork
import DefaultsCore
import Glibc
import Linux
import Synchronization

/// The thread that owns the session: it sends the process's requests, and applies the session's events.
///
/// With an agent, it sleeps until something arrives. Without one, it reloads the files: every second while there are
/// observers, and otherwise only before a read.
final class ClientThread {
    private let client: Client
    private let location: Location
    private let barriers: PendingBarriers
    private var link = Link.none
    /// The time of the last reload and agent lookup.
    private var lastReload = MonotonicTime(milliseconds: 0)
    private var attempts = AgentAttempts()
    private var commits = CommitQueue()
    private var hasEnded = false
    /// Whether the last wait ended because something had arrived.
    private var isActive = false
    /// Whether the problem with the agent's settings has been reported.
    private var hasReportedSettings = false
    /// The session's descriptor, which forked children close so that the agent notices the end of this process.
    private var descriptor: Int32 = -1

    /// The time in milliseconds during which a reload of the files counts as fresh.
    private static let freshness: Int64 = 1_000

    /// The session, and whose store it uses.
    private enum Link {
        case none
        case agent(AgentSession)
        case embedded(EmbeddedSession)

        var session: (any Session)? {
            switch self {
            case .none: nil
            case .agent(let session): session
            case .embedded(let session): session
            }
        }

        var agent: AgentSession? { if case .agent(let session) = self { session } else { nil } }
        var embedded: EmbeddedSession? { if case .embedded(let session) = self { session } else { nil } }
    }

    private init(_ client: Client, at location: Location) {
        self.client = client
        self.location = location
        barriers = client.line.barriers
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - client: The client, which the thread retains until it ends.
    ///   - location: The client's directories and socket.
    /// - Returns: False if no thread can be started.
    static func start(for client: Client, at location: Location) -> Bool {
        DetachedThread.start { ClientThread(client, at: location).run() }
    }

    // MARK: The loop

    private func run() {
        // A fork blocks until this thread is idle or between edits or events.
        fork_enter(fork_gate_work)
        defer { fork_leave(fork_gate_work) }
        client.threadClock.withLock { $0 = .ofThisThread }
        while !hasEnded {
            let requests = client.requests.dequeue()
            do throws(DefaultsError) {
                try serve(requests)
            } catch {
                // The agent is gone or unresponsive. Use another agent if one has started, and otherwise the files.
                client.line.open(nil)
                link = .none
                handle(error)
            }
            if requests.mustEnd { hasEnded = true } else if endsUnused() { return } else { wait() }
        }
        client.line.open(nil)
        link.embedded?.end()
        closeInChild(-1)
        barriers.finishAll()
        commits.abandon()
        client.transition { ((), $0.abandonLoads()) }
    }

    /// Ends the session if the client is unused.
    ///
    /// - Returns: Whether the thread ends, too; another one may have started since.
    private func endsUnused() -> Bool {
        guard client.isUnused, commits.isEmpty, barriers.isEmpty else { return false }
        client.line.open(nil)
        link.embedded?.end()
        closeInChild(-1)
        link = .none
        return client.endThreadIfUnused()
    }

    /// Handles the error that has ended a session.
    private func handle(_ error: DefaultsError) {
        if error.isTimeout { return handleSilence(error) }
        let isNews = error.code != .agentUnavailable || error.errno == nil && !barriers.isHandingOver
        if isNews { client.report(error, of: .agent) }
        // If the session failed right after it began, the next one would probably fail too.
        if lastReload + Self.freshness > .now() { attempts.postpone(until: .now() + Self.freshness) }
    }

    private func handleSilence(_ error: DefaultsError) {
        if attempts.recordSilence(at: .now()), !barriers.isHandingOver { client.report(error, of: .agent) }
    }

    private func serve(_ requests: ClientRequests.Batch) throws(DefaultsError) {
        barriers.add(requests.barriers)
        commits.add(requests.commits)
        defer { for latch in requests.reloads { latch.open() } }
        try openSession(reloading: !requests.reloads.isEmpty || !requests.barriers.isEmpty)
        guard let session = link.session else { return }
        let isObserved = client.isObserved
        let events = try exclusively { () throws(DefaultsError) in
            try ask(session)
            link.agent?.isObserved = isObserved
            if let files = link.embedded, isDue || !requests.reloads.isEmpty { reload(files) }
            return try session.receiveEvents()
        }
        // The remaining events of a restarted stream belong to no snapshot.
        var restarted: Set<DomainName> = []
        // The greeting alone doesn't count as a response.
        if link.agent != nil, !events.isEmpty { attempts.recordResponse() }
        for event in events {
            try handle(event, of: session, restarted: &restarted)
            yieldToFork()
        }
        let unused = client.state.withLock { $0.removeUnusedNames() }
        if !unused.isEmpty {
            try exclusively { () throws(DefaultsError) in try session.leave(unused) }
            // There may be more names to remove.
            client.requests.wake()
        }
        if barriers.isHandingOver, link.agent == nil || client.state.withLock({ $0.awaitedEdits == 0 }) {
            barriers.finishHandingOver()
        }
    }

    /// Sends the process's requests to the session.
    private func ask(_ session: any Session) throws(DefaultsError) {
        let (names, edits, last) = client.state.withLock { state in
            let (names, edits) = state.dequeueRequests()
            return (names, edits, state.unsaved.last)
        }
        try session.follow(names)
        for edit in edits {
            try session.edit(edit)
            // With an agent, sending is fast, and this runs under a lock that a fork waits for.
            if link.agent == nil { yieldToFork() }
        }
        let next = commits.begin(in: link.agent?.epoch, after: last) { commit in
            client.state.withLock { $0.holds(commit.expected, in: commit.domain) }
        }
        if let next { try send(next, to: session) }
        for number in barriers.dequeueUnasked() {
            try session.synchronize(client.state.withLock { $0.domainsInUse }, as: number)
        }
        if barriers.isHandingOver { try session.handOver() }
    }

    private func send(_ next: (commit: Commit, number: UInt64), to session: any Session) throws(DefaultsError) {
        let identity = client.state.withLock { EditIdentity(session: $0.commitSession, number: next.number) }
        try session.commit(next.commit.request(identity))
    }

    /// Runs a body while no caller uses the session.
    private func exclusively<Value: Sendable>(
        _ body: () throws(DefaultsError) -> Value
    ) throws(DefaultsError) -> Value {
        try client.line.exclusively(link.agent != nil, body)
    }

    private func wait() {
        var awaited = [pollfd(fd: client.requests.descriptor, events: Int16(POLLIN), revents: 0)]
        var deadline: MonotonicTime?
        switch link {
        case .none: deadline = .now()
        case .agent(let session):
            let next = client.line.prepareToWait(for: session, isActive: isActive)
            deadline = next.deadline
            awaited.append(next.awaited)
        case .embedded(let session):
            deadline = session.deadline
            if !client.isStale { deadline = min(deadline ?? .distantFuture, lastReload + Self.freshness) }
        }
        var timeout = deadline?.millisecondsLeft ?? -1
        if client.requests.descriptor < 0 { timeout = timeout < 0 ? 10 : min(timeout, 10) }
        closeInChild(awaited.dropFirst().first?.fd ?? -1)
        fork_leave(fork_gate_work)
        // Round up: a wait that ends just before its deadline would be followed by waits of zero length.
        isActive = poll(&awaited, nfds_t(awaited.count), timeout > 0 ? timeout + 1 : timeout) > 0
        fork_enter(fork_gate_work)
        if case .embedded = link, !client.isStale, lastReload + Self.freshness <= .now(), !client.isObserved {
            client.setStale(true)
        }
    }

    /// Lets a waiting fork proceed.
    private func yieldToFork() {
        fork_leave(fork_gate_work)
        fork_enter(fork_gate_work)
    }

    /// Registers the session's descriptor to be closed in forked children, before a fork can happen.
    private func closeInChild(_ new: Int32) {
        if descriptor == new { return }
        fork_keep_in_child(descriptor)
        fork_close_in_child(new)
        descriptor = new
    }

    // MARK: The session

    private var isDue: Bool { lastReload + Self.freshness <= .now() && client.isObserved }

    /// Opens a session, with an agent if one responds, unless there is one with an agent already.
    ///
    /// Without an agent, looks for one before each reload, and otherwise at most once a second.
    private func openSession(reloading: Bool) throws(DefaultsError) {
        if link.agent != nil { return }
        let isFresh = MonotonicTime.now() < lastReload + Self.freshness
        if link.embedded != nil, isFresh, !reloading { return }
        if let problem = location.directory.settingsProblem, !hasReportedSettings {
            client.report(problem, of: .file)
            hasReportedSettings = true
        }
        if let agent = connect(location) {
            let session = AgentSession(agent, keepAliveInterval: client.keepAliveInterval)
            // The log of the process's own store can't tell what happens after it.
            let continues = link.embedded == nil
            if let files = link.embedded {
                files.end()
                // Otherwise, the agent might send values from before what this process has just saved.
                let domains = client.state.withLock { $0.domainsInUse }
                do throws(DefaultsError) { try agent.awaitReading(domains) } catch {
                    if error.isTimeout { return handleSilence(error) }
                    throw error
                }
            }
            closeInChild(session.awaited.fd)
            try begin(session, as: .agent(session), continues: continues)
        } else if link.embedded == nil {
            let session = EmbeddedSession(location.directory, system: location.system)
            closeInChild(-1)
            try begin(session, as: .embedded(session), continues: false)
        }
    }

    private func connect(_ location: Location) -> AgentConnection? {
        // A process that is ending has no time for an agent that may not respond.
        guard attempts.areDue(at: .now()), !barriers.isHandingOver else { return nil }
        do throws(DefaultsError) {
            let timeouts = AgentTimeouts(AgentTimeouts.session)
            return try AgentConnection.open(location.address.get(), for: location.directory, timeouts: timeouts)
        } catch {
            if error.isTimeout {
                handleSilence(error)
                return nil
            }
            // An agent that is just ending counts as absent.
            if error.code == .agentUnavailable, error.errno != nil { return nil }
            client.report(error, of: .agent)
            attempts.postpone(until: .now() + AgentTimeouts.retry.after(0))
            return nil
        }
    }

    private func begin(_ session: any Session, as new: Link, continues: Bool) throws(DefaultsError) {
        link = new
        barriers.beginSession()
        lastReload = .now()
        client.setStale(false)
        try session.begin(client.transition { state in state.begin(system: session.system, continues: continues) })
        switch commits.resume(in: link.agent?.epoch) {
        case nil: break
        case .sendAgain(let commit, let number)?: try send((commit, number), to: session)
        case .fail(let commit, let last)?:
            client.state.withLock { $0.unsaved.recordUndecided(commit.values, of: commit.domain, after: last) }
            commit.barrier.finish([commit.unknownOutcome])
        }
        client.line.open(link.agent)
    }

    private func reload(_ files: EmbeddedSession) {
        files.reload()
        lastReload = .now()
        client.setStale(false)
    }

    // MARK: Events

    private func handle(
        _ event: SessionEvent, of session: any Session, restarted: inout Set<DomainName>
    ) throws(DefaultsError) {
        switch event {
        case .stream(let name, let event):
            if restarted.contains(name) { break }
            if client.transition({ $0.apply(event, of: name) }) {
                restarted.insert(name)
                try exclusively { () throws(DefaultsError) in try session.follow([name]) }
            }
        case .reached(let cursor): client.state.withLock { $0.reach(cursor) }
        case .unfollowed(let name): client.state.withLock { $0.markUnfollowed(name) }
        case .accepted(let number): client.transition { ((), $0.accept(number)) }
        case .refused(let number, let error) where error.code == .late:
            client.transition { ((), $0.compare(number)) }
        case .refused(let number, let error):
            if !client.transition({ $0.refuse(number, after: error) }) { client.report(error, of: .edit) }
        case .committed(_, let error):
            let commit = commits.finish()
            let name = commit.domain.name
            if error == nil { client.state.withLock { $0.unsaved.decide(commit.values.keys, of: commit.domain) } }
            if error?.code == .changed, client.state.withLock({ $0.mustReload(commit) }) {
                restarted.insert(name)
                try exclusively { () throws(DefaultsError) in try session.follow([name]) }
            }
            commit.barrier.finish(error.map { [$0] } ?? [])
            // The next conditional edit must be requested.
            if !commits.isEmpty { client.requests.wake() }
        case .unsaved(let domain): client.state.withLock { $0.markUnsaved(domain) }
        case .saved(let domain, let number): client.state.withLock { $0.markSaved(domain, upTo: number) }
        case .synchronized(let number, let failures):
            let last = barriers.last(of: number)
            if failures.isEmpty, client.state.withLock({ $0.unsaved.hasSentAgain(upTo: last) }) {
                // A refused edit was sent again in parts, which this answer may not include.
                barriers.askAgain(number)
                client.requests.wake()
            } else {
                barriers.finish(number, with: failures)
            }
        case .trouble(let error): client.report(error, of: .saving)
        }
    }
}
