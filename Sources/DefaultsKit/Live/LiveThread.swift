import CLinux
import DefaultsCore
import Glibc
import Linux
import Synchronization

/// The thread that owns the session: asks it for what the process wants, and takes what comes of it.
///
/// With an agent it sleeps until something comes. Without one, files are looked at by it: every second while someone
/// observes, else not before someone reads.
final class LiveThread {
    private let domains: LiveDomains
    private let place: Result<LivePlace, DefaultsError>
    private var session: (any Session)?
    /// Whether the session is with an agent.
    private var hasAgent = false
    /// When the files were last looked at, and an agent for.
    private var lastLook = MonotonicTime(milliseconds: 0)
    /// Before it, an agent that doesn't answer isn't tried again.
    private var nextAttempt = MonotonicTime(milliseconds: 0)
    /// How often in a row an agent hasn't answered.
    private var silences = 0
    /// Those that came together are asked for at once, by one number.
    private var barriers: [UInt64: [Barrier]] = [:]
    private var lastBarrier: UInt64 = 0
    /// The barriers that the session is still to be asked for.
    private var unasked: [UInt64] = []
    /// Who waits for edits to be handed over.
    private var handovers: [Barrier] = []
    /// The conditional edits to be made, in order and one at a time: an agent that is sent one again then knows by its number
    /// whether it has made it.
    private var commits: ArraySlice<Commit> = []
    private var lastCommit: UInt64 = 0
    private var commitUnderWay: CommitUnderWay?
    private var hasEnded = false
    /// Whether it was reported that the agent's settings can't be taken.
    private var hasReportedSettings = false
    /// The session's descriptor, which forked children close: else the agent wouldn't see the end of this process.
    private var descriptor: Int32 = -1

    /// The state of the first conditional edit once it has been sent.
    private struct CommitUnderWay {
        /// The log of the agent that was asked; `nil` without an agent.
        var log: Epoch?
    }

    /// How long a look at the files is good for.
    private static let freshness: Int64 = 1_000
    /// The pause before an agent that hasn't answered is tried again, in milliseconds; doubled each time, up to the longest.
    private static let retryInterval: Int64 = 30_000
    private static let longestRetryInterval: Int64 = 600_000

    private init(_ domains: LiveDomains) {
        self.domains = domains
        self.place = domains.place
    }

    /// Starts the thread, with all signals blocked: they are for the program's other threads.
    ///
    /// - Returns: whether there is one.
    static func start(for domains: LiveDomains) -> Bool {
        let parameter = Unmanaged.passRetained(domains)
        var thread = pthread_t()
        guard linux_start_thread(&thread, { LiveThread.main($0) }, parameter.toOpaque()) == 0 else {
            parameter.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private static func main(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let pointer else { return nil }
        LiveThread(Unmanaged<LiveDomains>.fromOpaque(pointer).takeRetainedValue()).run()
        return nil
    }

    // MARK: The loop

    private func run() {
        // A fork waits until this thread waits, too, or is between two edits or events.
        linux_enter(linux_gate_work)
        defer { linux_leave(linux_gate_work) }
        while !hasEnded {
            let requests = domains.requests.take()
            do throws(DefaultsError) {
                try serve(requests)
            } catch {
                // The agent is gone, or stuck: another may have begun, else the files are here.
                domains.line.open(nil)
                session = nil
                note(error)
            }
            if requests.mustEnd { hasEnded = true } else { wait() }
        }
        domains.line.open(nil)
        session?.end()
        linux_keep_in_child(descriptor)
        for barrier in barriers.values.joined() + handovers { barrier.finish() }
        for commit in commits { commit.barrier.finish([commit.loss]) }
        domains.transition { ((), $0.abandonWaiting()) }
    }

    /// Takes why a session has ended.
    private func note(_ error: DefaultsError) {
        if error.isOfSilence { return noteSilence(error) }
        let isNews = error.code != .agentUnavailable || error.errno == nil && handovers.isEmpty
        if isNews { domains.report(error, of: .agent) }
        // One that fails at once would again.
        if lastLook + Self.freshness > .now() { nextAttempt = .now() + Self.freshness }
    }

    /// Leaves an agent alone that doesn't answer, the longer the more often that has happened; it is reported once, until
    /// it answers.
    private func noteSilence(_ error: DefaultsError) {
        if silences == 0, handovers.isEmpty { domains.report(error, of: .agent) }
        nextAttempt = .now() + min(Self.retryInterval << min(Int64(silences), 10), Self.longestRetryInterval)
        silences += 1
    }

    private func serve(_ requests: LiveRequests.Taken) throws(DefaultsError) {
        handovers += requests.barriers.filter { $0.purpose == .handedOver }
        add(requests.barriers.filter { $0.purpose == .durable })
        commits += requests.commits
        defer { for latch in requests.looks { latch.open() } }
        try openSession(looking: !requests.looks.isEmpty || !requests.barriers.isEmpty)
        guard let session else { return }
        let isObserved = domains.isObserved
        let events = try exclusively { () throws(DefaultsError) in
            try ask(session)
            if !hasAgent, isDue || !requests.looks.isEmpty { try look(session) }
            session.isObserved = isObserved
            return try session.take()
        }
        // What is left of a stream that is begun again belongs to no snapshot.
        var restarted: Set<DomainName> = []
        // To greet is no answer yet.
        if hasAgent, !events.isEmpty { silences = 0 }
        for event in events {
            try take(event, session, &restarted)
            letFork()
        }
        let unused = domains.state.withLock { $0.takeUnused() }
        if !unused.isEmpty {
            try exclusively { () throws(DefaultsError) in try session.leave(unused) }
            // There may be more.
            domains.requests.wake()
        }
        if !handovers.isEmpty, !hasAgent || domains.state.withLock({ $0.isAccepted }) {
            for barrier in handovers { barrier.finish() }
            handovers = []
        }
    }

    /// Asks the session for what the process wants.
    private func ask(_ session: any Session) throws(DefaultsError) {
        let (names, edits) = domains.state.withLock { $0.takeRequests() }
        try session.follow(names)
        for edit in edits {
            try session.edit(edit)
            // With an agent this takes no time, and runs under a lock that a fork waits for.
            if !hasAgent { letFork() }
        }
        try askForCommit(session)
        for number in unasked { try session.synchronize(domains.state.withLock { $0.domainsInUse }, number) }
        unasked = []
        if !handovers.isEmpty { try session.handOver() }
    }

    /// Asks for the next conditional edit, unless one is under way.
    ///
    /// Those whose condition already fails here are refuted at once.
    private func askForCommit(_ session: any Session) throws(DefaultsError) {
        guard commitUnderWay == nil else { return }
        while let next = commits.first, !domains.state.withLock({ $0.holds(next.expected, in: next.domain) }) {
            commits.removeFirst()
            next.barrier.finish([next.refutation])
        }
        if !commits.isEmpty {
            lastCommit += 1
            try commit(session)
        }
    }

    private func commit(_ session: any Session) throws(DefaultsError) {
        guard let next = commits.first else { return }
        commitUnderWay = CommitUnderWay(log: (session as? AgentSession)?.epoch)
        let number = domains.state.withLock { $0.commitSession }
        try session.commit(next.request(EditIdentity(session: number, number: lastCommit)))
    }

    /// Sends the conditional edit under way to a new session if that has the same log, which tells whether it was made; fails
    /// it otherwise.
    private func resumeCommit(_ session: any Session) throws(DefaultsError) {
        guard let commitUnderWay else { return }
        if let log = commitUnderWay.log, (session as? AgentSession)?.epoch == log { return try commit(session) }
        self.commitUnderWay = nil
        let lost = commits.removeFirst()
        lost.barrier.finish([lost.loss])
    }

    /// Uses the session while no caller does.
    private func exclusively<Value: Sendable>(
        _ body: () throws(DefaultsError) -> Value
    ) throws(DefaultsError) -> Value {
        try domains.line.exclusively(hasAgent, body)
    }

    private func wait() {
        let (sessionAwaited, sessionDeadline) = domains.line.prepareToWait(for: session)
        var deadlines = [sessionDeadline]
        if session == nil { deadlines.append(.now()) }
        if !hasAgent, !domains.isStale { deadlines.append(lastLook + Self.freshness) }
        var awaited = [
            pollfd(fd: domains.requests.descriptor, events: Int16(POLLIN), revents: 0),
            sessionAwaited ?? pollfd(fd: -1, events: 0, revents: 0),
        ]
        var timeout = deadlines.compactMap { $0?.left }.min() ?? -1
        if domains.requests.descriptor < 0 { timeout = timeout < 0 ? 10 : min(timeout, 10) }
        // Rounded up: a wait that ends just before its time would be followed by waits of nothing.
        closeInChild(sessionAwaited?.fd ?? -1)
        linux_leave(linux_gate_work)
        _ = poll(&awaited, 2, timeout > 0 ? timeout + 1 : timeout)
        linux_enter(linux_gate_work)
        if !hasAgent, !domains.isStale, session != nil, lastLook + Self.freshness <= .now() {
            if !domains.isObserved { domains.setStale(true) }
        }
    }

    /// Lets a fork go on that waits for this thread.
    private func letFork() {
        linux_leave(linux_gate_work)
        linux_enter(linux_gate_work)
    }

    /// Notes the session's descriptor for forked children, before one may be forked.
    private func closeInChild(_ new: Int32) {
        if descriptor == new { return }
        linux_keep_in_child(descriptor)
        linux_close_in_child(new)
        descriptor = new
    }

    // MARK: The session

    private var isDue: Bool { lastLook + Self.freshness <= .now() && domains.isObserved }

    /// Sees to it that there is a session: an agent's if one answers.
    private func openSession(looking: Bool) throws(DefaultsError) {
        if hasAgent, session != nil { return }
        let isFresh = MonotonicTime.now() < lastLook + Self.freshness
        if session != nil, isFresh, !looking { return }
        let place: LivePlace
        switch self.place {
        case .success(let found): place = found
        case .failure(let error):
            if session == nil { try begin(UnavailableSession(error), isAgent: false) }
            return
        }
        if let problem = place.directory.settingsProblem, !hasReportedSettings {
            domains.report(problem, of: .file)
            hasReportedSettings = true
        }
        if let agent = connect(place) {
            session?.end()
            try begin(AgentSession(agent, pulse: domains.pulse), isAgent: true)
        } else if session == nil {
            try begin(EmbeddedSession(place.directory, system: place.system), isAgent: false)
        }
    }

    private func connect(_ place: LivePlace) -> AgentConnection? {
        // Who ends has no time for one that may not answer.
        guard nextAttempt <= .now(), handovers.isEmpty else { return nil }
        do throws(DefaultsError) {
            let patience = AgentPatience(AgentSession.patience)
            return try AgentConnection.open(place.address.get(), for: place.directory, patience: patience)
        } catch {
            if error.isOfSilence {
                noteSilence(error)
                return nil
            }
            // One that ends at this moment is none.
            if error.code == .agentUnavailable, error.errno != nil { return nil }
            domains.report(error, of: .agent)
            nextAttempt = .now() + Self.retryInterval
            return nil
        }
    }

    private func begin(_ new: any Session, isAgent: Bool) throws(DefaultsError) {
        let continues = hasAgent && isAgent
        session = new
        closeInChild(new.awaited.fd)
        hasAgent = isAgent
        unasked = barriers.keys.sorted()
        lastLook = .now()
        domains.setStale(false)
        try new.begin(domains.transition { state in state.begin(system: new.system, continues: continues) })
        try resumeCommit(new)
        domains.line.open(new as? AgentSession)
    }

    private func look(_ session: any Session) throws(DefaultsError) {
        try session.look()
        lastLook = .now()
        domains.setStale(false)
    }

    private func add(_ together: [Barrier]) {
        if together.isEmpty { return }
        lastBarrier += 1
        barriers[lastBarrier] = together
        unasked.append(lastBarrier)
    }

    // MARK: Events

    private func take(
        _ event: SessionEvent, _ session: any Session, _ restarted: inout Set<DomainName>
    ) throws(DefaultsError) {
        switch event {
        case .stream(let name, let event):
            if restarted.contains(name) { break }
            if domains.transition({ $0.take(event, of: name) }) {
                restarted.insert(name)
                try exclusively { () throws(DefaultsError) in try session.follow([name]) }
            }
        case .reached(let place): domains.state.withLock { $0.reach(place) }
        case .unfollowed(let name): domains.state.withLock { $0.noteUnfollowed(name) }
        case .accepted(let number): domains.transition { ((), $0.accept(number)) }
        case .refused(let number, let error) where error.code == .late:
            domains.transition { ((), $0.compare(number)) }
        case .refused(let number, let error):
            domains.report(error, of: .edit)
            domains.transition { ((), $0.refuse(number)) }
        case .committed(_, let error):
            commitUnderWay = nil
            let commit = commits.removeFirst()
            let name = commit.domain.name
            if error?.code == .changed, domains.state.withLock({ $0.mustReload(commit) }) {
                restarted.insert(name)
                try exclusively { () throws(DefaultsError) in try session.follow([name]) }
            }
            commit.barrier.finish(error.map { [$0] } ?? [])
            // The next is to be asked for.
            if !commits.isEmpty { domains.requests.wake() }
        case .unsaved(let domain): domains.state.withLock { $0.noteUnsaved(domain) }
        case .saved(let domain, let number): domains.state.withLock { $0.save(domain, upTo: number) }
        case .synchronized(let number, let failures):
            for barrier in barriers.removeValue(forKey: number) ?? [] { barrier.finish(failures) }
        case .trouble(let error): domains.report(error, of: .saving)
        }
    }
}
