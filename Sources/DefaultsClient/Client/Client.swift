package import DefaultsCore
import Glibc
import Linux
package import PropertyList
import Synchronization

/// The domains that a process uses, kept up to date by the agent if one is running, and by an embedded store otherwise.
///
/// A domain is loaded on first use, and its changes are followed from then on, so reads find its values in memory. An
/// edit takes effect in this process before the call returns; edits are sent in order. Any thread may call any method.
/// `ModificationLock` is the only lock under which callers' code runs. Lock order: `ModificationLock`, `hasThread`,
/// `line`, `state`, then the lock of a search list, a follower or a barrier.
package final class Client: Sendable {
    /// The process's own client.
    package static let shared = Client.ofProcess()

    /// The domains, and everything that depends on them.
    ///
    /// Only transitions run under this lock: no I/O, and no calls except to search lists and followers.
    let state: ForkSafeMutex<ClientState>
    let requests = ClientRequests()
    let line = SessionLine()
    /// The updates and transactions of tasks.
    package let calls = BlockingCalls()
    /// The reads of the history, which may take longer.
    let historyCalls = BlockingCalls()
    /// The count of search lists that have observers.
    let observed = ObservedLists()
    /// The directories and the agent's socket, or the reason why there are none.
    let location: Result<Location, DefaultsError>
    private let languagesSource = LanguagesSource()
    /// Whether the thread has been started, and hasn't ended for lack of use.
    ///
    /// Under this lock, requests are added, `state` and `threadClock` are locked, and the thread is started.
    private let hasThread = ForkSafeMutex(false)
    /// The clock of the thread's processor time, from which others see whether it is working.
    let threadClock = ForkSafeMutex<ThreadClock?>(nil)
    private let staleness = Atomic(false)
    /// Whether values exist only in this process, by choice or because there is no preferences directory.
    let isInMemory: Bool
    /// The reason why preferences can't be read or saved; reported when they are first used.
    let unavailability: DefaultsError?
    private let hasReportedUnavailability = Atomic(false)
    /// The keep-alive interval, in milliseconds: while there are observers, an agent that has been silent this long is
    /// asked whether it is still there.
    let keepAliveInterval: Int64
    /// Whether the thread ends while the client has no users, as for files that are named by path.
    package let endsWhenUnused: Bool

    /// Creates a client for the preferences at a location.
    package init(
        _ location: Result<Location, DefaultsError>, arguments: [String] = [],
        keepAliveInterval: Int64 = AgentTimeouts.keepAlive, endsWhenUnused: Bool = false
    ) {
        self.location = location
        self.endsWhenUnused = endsWhenUnused
        self.keepAliveInterval = keepAliveInterval
        var values: [Domain: DomainValues]?
        switch location {
        case .success: unavailability = nil
        case .failure(let error):
            unavailability = error.adding("Until this program is restarted, it reads no preferences and saves none.")
            values = [:]
        }
        isInMemory = values != nil
        state = ForkSafeMutex(
            ClientState(
                system: (try? location.get())?.system ?? .none,
                volatile: [SearchLayer.argumentDomain: ArgumentDomain.values(in: arguments)], inMemory: values))
        ForkedChild.add(self)
    }

    /// Creates a client whose domains exist only in memory, and not in files.
    package init(inMemory values: [Domain: DomainValues]) {
        location = .failure(DefaultsError(.directory, "These domains exist only in memory."))
        isInMemory = true
        unavailability = nil
        keepAliveInterval = 0
        endsWhenUnused = false
        state = ForkSafeMutex(ClientState(system: .none, volatile: [:], inMemory: values, hasHistory: true))
        ForkedChild.add(self)
    }

    deinit { ForkedChild.remove(self) }

    private static func ofProcess() -> Client {
        let location = Result { () throws(DefaultsError) in try Location(environment: .current) }
        ExitingThread.begin()
        return Client(location, arguments: CommandLine.arguments)
    }

    // MARK: Transitions

    /// Runs a transition, and then performs its effects.
    @discardableResult
    func transition<Value>(_ body: (inout ClientState) -> (Value, ClientEffects)) -> Value {
        let (value, effects) = state.withLock { body(&$0) }
        perform(effects)
        return value
    }

    /// Performs the effects of a transition on the thread that made it: a caller's, or `ClientThread`.
    private func perform(_ effects: ClientEffects) {
        // Do this first, since threads that wait for values or a save needn't wait for languages.
        if effects.isSentByCaller { sendEdits() } else if effects.needsSession { wakeThread() }
        for latch in effects.latches { latch.open() }
        for problem in effects.problems { report(problem, of: .file) }
        // Do this before the notifications, since notified observers must find the languages.
        make(effects.languages)
        for wakeUp in effects.wakeUps { wakeUp.fill() }
        var tracked: [TrackedKey] = []
        for (list, changes) in effects.changes {
            let observers = list.observers(of: changes)
            for wakeUp in observers.wakeUps { wakeUp.fill() }
            tracked += observers.tracked
        }
        for key in tracked { key.notify() }
    }

    /// Loads the values of the languages that search lists need, which takes a few milliseconds each.
    ///
    /// This runs on the first thread that searches a list, on a thread that changes a list's languages, or on
    /// `ClientThread` if an event changes them. On `ClientThread`, it delays later events of the session, including the
    /// end of a barrier. So when a barrier ends, earlier changes by others have arrived, along with the languages that
    /// they selected.
    private func make(_ languages: Set<String>) {
        if languages.isEmpty { return }
        let made = languages.map { ($0, languagesSource.values(of: $0)) }
        transition { ((), $0.add(Dictionary(uniqueKeysWithValues: made))) }
    }

    /// Includes languages domains in all searches from now on.
    package func useLanguages(
        from source: @escaping @Sendable (String) -> DomainValues?, environment: Environment = .current
    ) {
        languagesSource.set(source)
        let names = isInMemory && unavailability == nil ? [] : Languages.preferred(in: environment)
        transition { ((), $0.useLanguages(else: names)) }
    }

    /// Sends edits on the calling thread, so that they have left the process by the time the editing call returns.
    ///
    /// Without an agent, or while other requests are pending, `ClientThread` sends them.
    private func sendEdits() {
        if line.send({ state.withLock { $0.dequeueEdits() } }) { wakeThread() }
    }

    /// Adds requests and wakes the thread, after starting it if necessary.
    ///
    /// - Parameters:
    ///   - isReported: Whether a failure is reported to the program's handler; false if the caller throws `noThread`.
    ///   - asking: A closure that adds the requests.
    /// - Returns: False if there is no thread and none can be started. In that case, the caller must not wait.
    @discardableResult
    func wakeThread(isReported: Bool = true, asking: (inout ClientRequests.Batch) -> Void = { _ in }) -> Bool {
        reportUnavailability()
        guard !isInMemory, case .success(let location) = location else { return false }
        ForkedChild.rehearse()
        let exists = hasThread.withLock { hasThread in
            if !hasThread {
                requests.open()
                hasThread = ClientThread.start(for: self, at: location)
            }
            if hasThread { requests.ask(asking) }
            return hasThread
        }
        if !exists {
            // No thread retains the client and its edits.
            FileSuites.retain(self)
            if isReported { report(Self.noThread, of: .agent) }
        }
        return exists
    }

    /// Whether the client has no users and nothing to do, so that its thread may end.
    var isUnused: Bool { endsWhenUnused && requests.isEmpty && state.withLock { $0.isUnused } }

    /// Records that the thread ends, which calls this without a session.
    ///
    /// - Returns: False if the client is in use again.
    func endThreadIfUnused() -> Bool {
        hasThread.withLock { hasThread in
            guard requests.isEmpty, state.withLock({ $0.forgetUnused() }) else { return false }
            threadClock.withLock { $0 = nil }
            hasThread = false
            return true
        }
    }

    static let noThread = DefaultsError(
        .agentUnavailable,
        "No thread could be started, so nothing can be saved.",
        remedy: "Raise the limit on processes (ulimit -u).")

    // MARK: Use

    /// Runs a closure while the domains with some names are loaded, after reloading them if they are stale.
    ///
    /// Waits for the agent or the disk if they must be loaded or reloaded.
    package func with<Value, Failure>(
        _ names: [DomainName], _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        hold(names)
        defer { release(names) }
        prepare(names)
        return try body()
    }

    /// Retains the domains with some names, once they are loaded, until `release`.
    func hold(_ names: some Sequence<DomainName>) {
        state.withLock { state in for name in names { state.hold(name) } }
    }

    /// Reverses one `hold`.
    func release(_ names: some Sequence<DomainName>) {
        release { state in for name in names { state.release(name) } }
    }

    /// Reverses uses of names, and wakes the thread if names are no longer needed.
    func release(_ body: (inout ClientState) -> Void) {
        let mustWake = state.withLock { state in
            body(&state)
            return state.idle.hasExcess || endsWhenUnused && state.isUnused
        }
        if mustWake { requests.wake() }
    }

    /// Loads the domains with some held names, or reloads them if they are stale.
    ///
    /// Waits for the agent or the disk if they must be loaded or reloaded.
    package func prepare(_ names: [DomainName]) {
        for latch in beginLoading(names) { _ = latch.wait() }
    }

    /// Loads the domains of some held names, or reloads them if they are stale, without blocking a thread.
    ///
    /// - Returns: False if the task was canceled first.
    package func load(_ names: [DomainName]) async -> Bool {
        for latch in beginLoading(names) where await !latch.opened() { return false }
        return true
    }

    /// Starts to load the names that aren't loaded yet, or else to reload the files if they are stale.
    ///
    /// - Returns: The latches to wait for; none if there is nothing to wait for, or no thread to do it.
    private func beginLoading(_ names: [DomainName]) -> [Latch] {
        let latches = state.withLock { state in
            names.filter { !state.isLoaded($0) }.map { name in
                let latch = Latch()
                state.load(name, opening: latch)
                return latch
            }
        }
        if !latches.isEmpty { return wakeThread() ? latches : [] }
        reportUnavailability()
        return isStale ? [beginReload()].compactMap(\.self) : []
    }

    /// Whether the files may have changed unnoticed.
    package var isStale: Bool { staleness.load(ordering: .relaxed) || ForkedChild.isFresh }

    func setStale(_ isStale: Bool) { staleness.store(isStale, ordering: .relaxed) }

    /// Whether an observer or a follower is waiting for changes, which other processes may make.
    package var isObserved: Bool { observed.isAny || state.withLock { !$0.followers.isEmpty } }

    /// Wakes the thread for a new observer: to begin reloading the files, or to check that the agent is still there.
    package func beginObserving() { requests.wake() }

    /// Requests a reload of the files.
    ///
    /// - Returns: A latch that opens after the reload; `nil` if there is no thread.
    private func beginReload() -> Latch? {
        let latch = Latch()
        return wakeThread { $0.reloads.append(latch) } ? latch : nil
    }

    /// Sets and removes keys of a domain in one change set.
    ///
    /// - Parameters:
    ///   - domain: The domain.
    ///   - values: The keys to set or remove.
    ///   - isWhole: Whether nothing is set if one of the values is refused.
    /// - Returns: The reasons why keys can't be set to their values, for the caller to report. These keys keep theirs.
    package func edit(
        _ domain: Domain, with values: Difference, asWhole isWhole: Bool = false
    ) -> [String: DefaultsError] {
        var refusals = OpenTransaction.refusals(of: values.keys, in: domain, of: self)
        refusals.merge(EditRequest.refusals(of: values, for: domain)) { refusal, _ in refusal }
        if refusals.isEmpty || !isWhole && refusals.count < values.count {
            make(refusals.isEmpty ? values : values.filter { refusals[$0.key] == nil }, in: domain, asWhole: isWhole)
        }
        return refusals
    }

    private func make(_ values: Difference, in domain: Domain, asWhole isWhole: Bool) {
        // In the usual case, the values are loaded and the lock, which other threads also need, is acquired only once.
        let edit = { (state: inout ClientState) in state.edit(domain, with: values, asWhole: isWhole, at: .now()) }
        if !isStale, let effects = state.withLock({ $0.isLoaded(domain.name) ? edit(&$0) : nil }) {
            reportUnavailability()
            return perform(effects)
        }
        with([domain.name]) { transition { ((), edit(&$0)) } }
    }

    /// Replaces all keys of a domain in one change set.
    ///
    /// - Returns: The reasons why keys can't be set to their values, for the caller to report. These keys keep theirs.
    package func replace(_ domain: Domain, with values: DomainValues) -> [String: DefaultsError] {
        var refusals = EditRequest.refusals(of: values.mapValues(\.self), for: domain)
        with([domain.name]) {
            let keys = Set(values.keys).union(self.values(of: domain).keys)
            refusals.merge(OpenTransaction.refusals(of: keys, in: domain, of: self)) { $1 }
            transition { ((), $0.replace(domain, with: values, except: Set(refusals.keys), at: .now())) }
        }
        return refusals
    }

    /// Sets and removes keys of a domain if certain keys still have their expected values, both in the file and as seen
    /// by every process.
    ///
    /// Waits for the agent or the disk. If the condition fails, the values that others have set are received before the
    /// call returns.
    ///
    /// - Throws: `changed` if a key has another value, in which case nothing was set; otherwise the reason why the edit
    ///   was refused or its outcome is unknown.
    package func commit(
        _ domain: Domain, with values: Difference, expecting expected: Difference
    ) throws(DefaultsError) {
        if let refusal = OpenTransaction.refusals(of: values.keys, in: domain, of: self).values.first { throw refusal }
        for (key, value) in values { try EditRequest.check(key, with: value, for: domain) }
        let commit = Commit(domain: domain, values: values, expected: expected)
        if isInMemory {
            reportUnavailability()
            if let unavailability { throw unavailability }
            guard transition({ $0.commit(commit, at: .now()) }) else { throw commit.conditionError }
            return
        }
        state.withLock { $0.begin(commit) }
        defer { state.withLock { $0.end(commit) } }
        let failures = try with([domain.name]) { () throws(DefaultsError) in
            guard wakeThread(isReported: false, asking: { $0.commits.append(commit) }) else { throw Self.noThread }
            return commit.barrier.wait()?.failures ?? []
        }
        if let failure = failures.first { throw failure }
        guard state.withLock({ $0.isOvertaken(commit) }) else { return }
        // Wait until the other thread's change has been made. The barrier isn't saving anything.
        ModificationLock.shared.lock(for: commit.barrier)
        ModificationLock.shared.unlock()
        if state.withLock({ $0.isOvertaken(commit) }) { throw commit.conditionError }
    }

    /// Begins a change of a key in place, which doesn't wait for a conditional edit of another thread.
    ///
    /// The other thread repeats its edit after the change, which is based on a value from before the edit.
    ///
    /// - Parameters:
    ///   - key: The key to change.
    ///   - domain: The domain that has it.
    ///   - read: A closure that reads the value to change.
    /// - Returns: That value.
    package func overtakeCommits(
        of key: String, in domain: Domain, reading read: () -> PropertyListValue?
    ) -> PropertyListValue? {
        state.withLock { $0.overtakeCommits(of: key, in: domain) }
        let value = read()
        state.withLock { $0.followCommits(of: key, in: domain, having: value) }
        return value
    }

    /// Ends such a change that set nothing, so that no conditional edit need be repeated.
    package func letCommitsStand(of key: String, in domain: Domain) {
        state.withLock { $0.letCommitsStand(of: key, in: domain) }
    }

    // MARK: Forks

    /// Starts over in a forked child, which has no thread, no session and no edits of its own yet.
    ///
    /// The waiting threads exist only in the parent, but their latches must be abandoned here: a semaphore must not be
    /// freed while it counts a waiting thread.
    func startOver() {
        hasThread.withLock { $0 = false }
        requests.startOver()
        line.startOver()
        calls.startOver()
        historyCalls.startOver()
        for latch in state.withLock({ $0.startOver() }) { latch.abandon() }
        setStale(!isInMemory)
    }

    // MARK: Problems

    /// Reports, only once, that preferences can't be read or saved.
    func reportUnavailability() {
        guard let unavailability, !hasReportedUnavailability.exchange(true, ordering: .relaxed) else { return }
        report(unavailability, of: .saving)
    }

    /// Reports an error in the background that isn't due to a particular caller.
    func report(_ error: DefaultsError, of kind: Problem.Kind) {
        ProblemHandler.reportElsewhere(Problem(kind, because: error))
    }
}
