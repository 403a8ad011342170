package import DefaultsCore
import Glibc
import Linux
import PropertyList
import Synchronization

/// The domains that a process uses, kept live: by an agent where one runs, else by a store of the process's own.
///
/// A read finds what is here; a domain is fetched when it is first used, and followed from then on. An edit is in force
/// here when the call returns, and leaves in its order. All methods may be called from any thread. Only
/// `modifications` is held while a caller's code runs. Lock order: `modifications`, `line`, `state`, then a search list's or a
/// follower's own.
package final class LiveDomains: Sendable {
    /// The process's own.
    package static let shared = LiveDomains.ofProcess()

    /// The domains, and all that depends on them.
    ///
    /// Only transitions run under it: no I/O, no call to anyone else but search lists and followers.
    let state: ForkSafeMutex<LiveState>
    let requests = LiveRequests()
    let line = SessionLine()
    /// Held while a caller changes a value based on what it was.
    let modifications = ModificationLock()
    /// The search lists that are observed.
    let observed = ObservedLists()
    let place: Result<LivePlace, DefaultsError>
    private let languagesSource = LanguagesSource()
    /// Whether there is a thread.
    ///
    /// Only the thread's start is called under it.
    private let hasThread = ForkSafeMutex(false)
    private let staleness = Atomic(false)
    let isInMemory: Bool
    /// After so many milliseconds without a word an agent is asked whether it is there, if someone waits for changes.
    let pulse: Int64

    /// Makes the domains of a place.
    package init(_ place: Result<LivePlace, DefaultsError>, arguments: [String] = [], pulse: Int64 = 30_000) {
        self.place = place
        self.pulse = pulse
        isInMemory = false
        let system = (try? place.get())?.system ?? .none
        state = ForkSafeMutex(
            LiveState(
                system: system,
                volatile: [SearchLayer.argumentDomain: ArgumentDomain.values(in: arguments)]))
        ForkedChild.add(self)
    }

    /// Makes domains that are in no file, and that nobody else sees.
    init(inMemory values: [Domain: DomainValues]) {
        place = .failure(DefaultsError(.directory, "These domains are in memory alone."))
        isInMemory = true
        pulse = 0
        state = ForkSafeMutex(LiveState(system: .none, volatile: [:], inMemory: values))
        ForkedChild.add(self)
    }

    deinit { ForkedChild.remove(self) }

    private static func ofProcess() -> LiveDomains {
        let place = Result { () throws(DefaultsError) in try LivePlace(environment: .current) }
        ExitingThread.begin()
        return LiveDomains(place, arguments: CommandLine.arguments)
    }

    // MARK: Transitions

    /// Runs a transition, and then what it asks for.
    @discardableResult
    func transition<Value>(_ body: (inout LiveState) -> (Value, LiveEffects)) -> Value {
        let (value, effects) = state.withLock { body(&$0) }
        perform(effects)
        return value
    }

    /// Does what a transition asks for, on the thread that made it: a caller's, or `LiveThread`.
    private func perform(_ effects: LiveEffects) {
        // At first: nobody who waits for values or a save need wait for languages.
        if effects.isSentByCaller { sendEdits() } else if effects.needsSession { wakeThread() }
        for latch in effects.latches { latch.open() }
        for problem in effects.problems { report(problem, of: .file) }
        // Before anyone is told: who is told of a change finds the languages, too.
        make(effects.languages)
        for wakeUp in effects.wakeUps { wakeUp.fill() }
        var tracked: [TrackedKey] = []
        for (list, changes) in effects.changes {
            let observers = list.observers(of: changes)
            for wakeUp in observers.wakeUps { wakeUp.fill() }
            tracked += observers.tracked
        }
        for key in tracked { key.announce() }
    }

    /// Makes the values of languages that search lists ask for, some milliseconds each.
    ///
    /// The caller is who searches a list first, who changes its languages, or `LiveThread`, when what it takes changes them.
    /// On `LiveThread` what the session has sent after that waits, a barrier's end too: what others did before a barrier is
    /// here when it ends, and so are the languages that they set.
    private func make(_ languages: Set<String>) {
        if languages.isEmpty { return }
        let made = languages.map { ($0, languagesSource.values(of: $0)) }
        transition { ((), $0.add(Dictionary(uniqueKeysWithValues: made))) }
    }

    /// Searches languages domains from now on.
    func useLanguages(
        from source: @escaping @Sendable (String) -> DomainValues?, environment: Environment = .current
    ) {
        languagesSource.set(source)
        let names = isInMemory ? [] : Languages.preferred(in: environment)
        transition { ((), $0.useLanguages(else: names)) }
    }

    /// Sends edits on this thread, so that they have left the process when the call that made them returns.
    ///
    /// Without an agent, or behind other requests, `LiveThread` sends them.
    private func sendEdits() {
        if line.send({ state.withLock { $0.takeEdits() } }) { wakeThread() }
    }

    /// Wakes the thread, and starts it when it is first needed.
    ///
    /// - Returns: false when there is none, and none can be had: then nothing is to be waited for.
    @discardableResult
    private func wakeThread() -> Bool {
        if isInMemory { return false }
        let exists = hasThread.withLock { hasThread in
            if !hasThread {
                requests.open()
                hasThread = LiveThread.start(for: self)
            }
            return hasThread
        }
        if exists {
            requests.wake()
        } else {
            report(Self.noThread, of: .agent)
        }
        return exists
    }

    private static let noThread = DefaultsError(
        .agentUnavailable,
        "No thread could be started, so nothing can be saved. Raise the limit of processes (ulimit -u).")

    // MARK: Use

    /// Runs a body while the domains of some names are here; at its begin they are no older than they may be.
    ///
    /// Waits for the agent, or the disk, when they aren't here.
    func with<Value>(_ names: [DomainName], _ body: () -> Value) -> Value {
        state.withLock { state in for name in names { state.hold(name) } }
        defer {
            let hasExcess = state.withLock { state in
                for name in names { state.letGo(name) }
                return state.idle.hasExcess
            }
            if hasExcess { requests.wake() }
        }
        prepare(names)
        return body()
    }

    /// Sees to it that the domains of some names, which are held, are here, and no older than they may be.
    ///
    /// Waits for the agent, or the disk, when they are not.
    func prepare(_ names: [DomainName]) {
        let latches = state.withLock { state in
            names.filter { !state.isLoaded($0) }.map { name in
                let latch = Latch()
                state.load(name, latch)
                return latch
            }
        }
        if latches.isEmpty {
            if isStale { look() }
            return
        }
        guard wakeThread() else { return }
        for latch in latches { _ = latch.wait() }
    }

    /// Whether the files may have changed unseen.
    var isStale: Bool { staleness.load(ordering: .relaxed) || ForkedChild.isFresh }

    func setStale(_ isStale: Bool) { staleness.store(isStale, ordering: .relaxed) }

    /// Whether anyone is to be told of changes that this process doesn't make.
    var isObserved: Bool { observed.isAny || state.withLock { !$0.followers.isEmpty } }

    /// Has the thread begin to look at the files, or to see whether the agent is there, for someone who is told of changes
    /// from now on.
    func beginObserving() { requests.wake() }

    /// Has the files looked at, and waits for it.
    func look() {
        guard wakeThread() else { return }
        let latch = Latch()
        requests.ask { $0.looks.append(latch) }
        _ = latch.wait()
    }

    /// Sets and removes keys of a domain, as one change set.
    func edit(_ domain: Domain, _ values: Difference) {
        // Nearly always the values are here: then one turn of the lock is enough, which other threads want, too.
        if !isStale,
            let effects = state.withLock({ $0.isLoaded(domain.name) ? $0.edit(domain, values, at: .now()) : nil })
        {
            return perform(effects)
        }
        with([domain.name]) { transition { ((), $0.edit(domain, values, at: .now())) } }
    }

    /// Removes all keys of a domain and sets others, as one change set.
    func replace(_ domain: Domain, with values: DomainValues) {
        with([domain.name]) { transition { ((), $0.replace(domain, with: values, at: .now())) } }
    }

    /// Sets and removes keys of a domain if certain keys still hold the expected values, in the file and for every process.
    ///
    /// Waits for the agent, or the disk. The values that others have given the keys are here when it fails.
    ///
    /// - Throws: `changed` when a key holds another value, and nothing was set; otherwise why the edit was refused or its
    ///   outcome is unknown.
    func commit(
        _ domain: Domain, _ values: Difference, expecting expected: Difference
    ) throws(DefaultsError) {
        let commit = Commit(domain: domain, values: values, expected: expected)
        if isInMemory {
            guard transition({ $0.commit(commit, at: .now()) }) else { throw commit.refutation }
            return
        }
        guard wakeThread() else { throw Self.noThread }
        let failures = with([domain.name]) {
            requests.ask { $0.commits.append(commit) }
            return commit.barrier.wait() ?? []
        }
        if let failure = failures.first { throw failure }
    }

    // MARK: The end of edits

    /// Waits until all edits are durable, and all that others did before is here.
    ///
    /// - Returns: why some edits aren't durable; none when all are.
    func synchronize() -> [DefaultsError] {
        if isInMemory { return [] }
        let barrier = Barrier(.durable)
        guard wakeThread() else { return [Self.noThread] }
        requests.ask { $0.barriers.append(barrier) }
        return barrier.wait() ?? []
    }

    /// Waits until all edits outlive the process: the agent has them, or they are in their files.
    ///
    /// It goes on waiting as long as some are taken; what nobody takes within twelve seconds is reported.
    func handOver() {
        guard !isInMemory, state.withLock({ $0.mustHandOver }) else { return }
        let barrier = Barrier(.handedOver)
        guard wakeThread() else { return }
        var left = state.withLock { $0.unaccepted }
        requests.ask { $0.barriers.append(barrier) }
        while barrier.wait(milliseconds: Self.handOverPatience) == nil {
            let now = state.withLock { $0.unaccepted }
            guard now < left else {
                let edits = now == 0 ? "Edits" : "\(now) edits"
                let error = DefaultsError(
                    .notSaved,
                    "\(edits) could not be saved before the end of the process: nobody took them for 12 seconds.")
                return report(error, of: .saving)
            }
            left = now
        }
    }

    /// The time without progress, in milliseconds, after which edits are given up: somewhat longer than the directory's lock is
    /// waited for.
    private static let handOverPatience = 12_000

    /// Ends the thread.
    ///
    /// For a place that is no longer used; the process's own is used until its end.
    package func close() {
        handOver()
        requests.ask { $0.mustEnd = true }
    }

    // MARK: Forks

    /// Starts over in a forked child, which has no thread, no session and no edits of its own yet.
    ///
    /// The threads that waited are the parent's, but a semaphore must not be freed while it counts one.
    func startOver() {
        hasThread.withLock { $0 = false }
        requests.startOver()
        line.startOver()
        modifications.startOver()
        for latch in state.withLock({ $0.startOver() }) { latch.open() }
        setStale(!isInMemory)
    }

    // MARK: Problems

    /// Tells of something that went wrong behind the callers' backs.
    func report(_ error: DefaultsError, of matter: DefaultsProblem.Matter) {
        ProblemHandler.reportElsewhere(DefaultsProblem(matter, error))
    }
}
