import DefaultsCore
import DirectoryWatcher
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// What drives the store in the agent: it looks at files when the watcher says so, and publishes edits when it is time.
///
/// It runs on an event loop, and so a thread, of its own, on which it may wait for the disk: nobody else does.
actor Engine: Service {
    nonisolated let store: Store
    nonisolated let watcher: DirectoryWatcher
    let eventLoop: any EventLoop
    /// Runs its tasks on that loop.
    nonisolated let executor: LoopExecutor
    private let log: AgentLog
    private(set) var settings: AgentSettings
    var agenda = Agenda()
    private var timer: Scheduled<Void>?
    /// How often in a row a file was open for writing when it was looked at.
    var attempts: [Domain: Int] = [:]
    /// How often in a row a replaced version was still open for writing.
    var examinations: Int64 = 0
    /// The domains with edits that wait to be published together.
    ///
    /// Whose is in it is planned to be published, or about to be. It is taken out before that begins: an edit that comes while
    /// the file is being written is planned anew.
    nonisolated let waiting = Mutex(WaitingEdits())
    /// What stands in the way of saving.
    var obstacles = SaveObstacles()
    /// How often in a row publishing has failed.
    var failures: [Domain: Int] = [:]
    /// How often in a row a file couldn't be read.
    var refusals: [Domain: Int] = [:]
    /// How often in a row not all files could be found.
    var blindLooks = 0
    /// How often the change log's file was given up, or couldn't be begun again, with less than a minute between.
    private var lostLogs = 0
    /// When it was last begun again.
    private var logKeptAt = NIODeadline.now()
    /// What is wrong with the directory, told already.
    private var directoryProblem: DefaultsError?
    /// What is wrong with the system's directories, told already.
    private var systemProblems: [DefaultsError] = []
    /// What is wrong with the settings, told already.
    private var settingsProblems: [String] = []
    /// How changes are noticed, as it was told.
    private var watching: WatcherStatus.Mode?
    /// Who is told that records were posted; set before the first edit can come.
    private nonisolated let subscribers = Mutex<Server?>(nil)

    /// Who looks at the agent's claims; set before the first event is read.
    private nonisolated let claimChecks = Mutex<ClaimChecks?>(nil)

    nonisolated var unownedExecutor: UnownedSerialExecutor { eventLoop.executor.asUnownedSerialExecutor() }

    init(
        store: Store, watcher: DirectoryWatcher, settings: AgentSettings, problems: [String], log: AgentLog,
        on eventLoop: any EventLoop
    ) {
        settingsProblems = problems
        self.store = store
        self.watcher = watcher
        self.settings = settings
        self.log = log
        self.eventLoop = eventLoop
        executor = LoopExecutor(eventLoop)
    }

    /// Takes what the first look at the directory left open, and is told of all that comes.
    func begin(_ unsettled: Store.Unsettled) {
        store.observe(with: self)
        for (_, error) in store.failures() { log.logger.warning("\(error)") }
        if let problem = store.logProblem { storeLostLog(problem) }
        tell(of: unsettled.problem)
        tellWatching()
        tellOfSystem()
        // They were read before the watch began to be followed.
        compareSettings()
        revisit(unsettled)
        // What a crash may have left behind.
        plan(.examineDisplaced, in: .zero)
        // A file that can't be taken is left alone until it is mended, or edited again.
        for (domain, _) in store.pending() where store.snapshot(of: domain).damage == nil {
            storeNeedsPublishing(domain, .atOnce)
        }
    }

    /// Names who is told that records were posted.
    nonisolated func tell(_ server: Server) {
        subscribers.withLock { $0 = server }
    }

    /// Names who looks at the agent's claims when the directory has changed.
    nonisolated func tell(_ checks: ClaimChecks) {
        claimChecks.withLock { $0 = checks }
    }

    /// Looks at files as the watcher tells, until the agent is to end; then saves what is pending.
    func run() async throws {
        await withGracefulShutdownHandler {
            for await _ in watcher.ticks { takeDirty() }
        } onGracefulShutdown: {
            self.watcher.stop()
        }
        await end()
    }

    /// Saves what is pending.
    private func end() async {
        timer?.cancel()
        takeDirty()
        _ = await publish(store.pending().map(\.domain), until: .now() + .seconds(5))
        _ = store.examineDisplaced()
        // What foreign writers left in the versions that were replaced is pending now.
        for (domain, error) in await publish(store.pending().map(\.domain), until: .now() + .seconds(5)) {
            log.logger.error("Edits of \(domain) are left to the next agent, in the change log: \(error)")
        }
        _ = store.examineDisplaced()
        for path in store.displacedPaths {
            log.logger.notice(
                "A replaced version is still in use, or could not be saved. It stays in \(path) until an agent starts.")
        }
    }

    // MARK: Looking

    /// Looks at everything that the watcher has gathered.
    func takeDirty() {
        let dirty = watcher.take()
        if dirty.rescan != nil || dirty.changed.contains(AgentClaim.fileName) {
            claimChecks.withLock { $0 }?.request()
        } else if !dirty.isEmpty {
            // Clients that don't find the socket write the files themselves.
            claimChecks.withLock { $0 }?.requestIfNeeded()
        }
        if let reason = dirty.rescan {
            tellWatching()
            log.logger.debug("Looking at all files: \(reason)")
            lookAtAll()
            tellOfSystem()
        }
        let changed = domains(dirty.changed)
        for domain in changed { obstacles.noteChange(of: domain) }
        revisit(store.look(at: changed, isTold: true))
        // What stood in the way of publishing may be gone. A file's own event says nothing of that: it may come of the attempt.
        if dirty.rescan != nil {
            failures.keys.forEach { plan(.publish($0), in: .zero) }
            plan(.keepLog, in: .zero)
        }
        for domain in domains(dirty.beingWritten) {
            plan(.look(domain), in: .milliseconds(Int64(settings.holdDelay)))
        }
    }

    /// Tells of what is wrong with the system's directories, once.
    private func tellOfSystem() {
        let problems = store.system.problems
        for problem in problems where !systemProblems.contains(problem) { log.logger.warning("\(problem)") }
        systemProblems = problems
    }

    /// Tells when changes are noticed in another way than before; the first is told when the agent is ready.
    private func tellWatching() {
        let mode = watcher.status.mode
        defer { watching = mode }
        guard let watching, watching != mode else { return }
        switch mode {
        case .polling: log.logger.warning("\(store.directory.path) is watched by \(mode)")
        case .inotify: log.logger.notice("\(store.directory.path) is watched by \(mode)")
        // What has become of the directory is told by who looks for its files.
        case .waiting: break
        }
    }

    func lookAtAll() {
        do throws(DefaultsError) {
            let unsettled = try store.lookAtAll()
            tell(of: unsettled.problem)
            revisit(unsettled)
        } catch {
            tell(of: error)
            revisit(store.lookAtSystem())
        }
    }

    /// Tells of what is wrong with the directory, once, and plans to look at all files again.
    private func tell(of problem: DefaultsError?) {
        if let problem, directoryProblem == nil { log.logger.warning("\(problem)") }
        if problem == nil, directoryProblem != nil { log.logger.notice("The directory can be read again.") }
        directoryProblem = problem
        if problem == nil {
            blindLooks = 0
            agenda.remove(.lookAtAll)
        } else {
            plan(.lookAtAll, in: Self.pause(after: blindLooks))
            blindLooks += 1
        }
    }

    /// How long to wait after so many failures in a row: a second, two, four, a minute at most.
    static func pause(after failures: Int) -> TimeAmount {
        .seconds(min(1 << Int64(min(failures, 6)), 60))
    }

    /// The domains whose files bear the watcher's names; those of the system's directories are absolute paths.
    private func domains(_ names: Set<String>) -> Set<Domain> {
        Set(
            names.flatMap { name in
                name.utf8.first == UInt8(ascii: "/")
                    ? store.system.domains(atPath: name) : [Domain(fileName: name)].compactMap(\.self)
            })
    }

    func look(at domain: Domain, haste: Store.Haste) {
        // Long open for writing: take what two equal readings say, since its writer may never close it.
        let isLong = attempts[domain, default: 0] >= 10
        let unsettled = store.look(at: [domain], patience: isLong ? .insist : .wait, haste: haste, isTold: true)
        if unsettled.beingWritten.isEmpty { attempts[domain] = nil }
        if unsettled.isEmpty { refusals[domain] = nil }
        revisit(unsettled)
    }

    /// Plans another look at what couldn't be told yet.
    func revisit(_ unsettled: Store.Unsettled) {
        for domain in unsettled.beingWritten {
            let attempt = attempts[domain, default: 0]
            attempts[domain] = attempt + 1
            // 1, 2, 4 … 32, 50, 50 …; after about 250 ms by two equal readings, ever more seldom.
            let pause = attempt < 10 ? min(1 << attempt, 50) : min(250 << min(attempt - 10, 5), 5_000)
            plan(.look(domain), in: .milliseconds(Int64(pause)))
        }
        for domain in unsettled.unreadable {
            plan(.look(domain), in: Self.pause(after: refusals[domain, default: 0]))
            refusals[domain, default: 0] += 1
        }
        for domain in unsettled.doubtful {
            plan(.settle(domain), in: .milliseconds(Int64(settings.holdDelay)))
        }
    }

    // MARK: The agenda

    func plan(_ item: Agenda.Item, in delay: TimeAmount) {
        agenda.add(item, at: .now() + delay)
        armTimer()
    }

    func armTimer() {
        timer?.cancel()
        guard let next = agenda.next else { return }
        timer = eventLoop.scheduleTask(deadline: next) { self.assumeIsolated { $0.doDue() } }
    }

    private func doDue() {
        for item in agenda.takeDue(at: .now()) {
            switch item {
            case .look(let domain): look(at: domain, haste: .patient)
            case .settle(let domain): look(at: domain, haste: .settle)
            case .publish(let domain): publishIfDue(domain)
            case .lookAtAll: lookAtAll()
            case .keepLog: keepLog()
            case .examineDisplaced:
                // Someone may hold one open for ever.
                let isLeft = store.examineDisplaced(olderThan: .nanoseconds(Self.displacedAge.nanoseconds))
                examinations = isLeft ? examinations + 1 : 0
                if isLeft { plan(.examineDisplaced, in: .seconds(min(1 << min(examinations - 1, 3), 5))) }
            }
        }
        armTimer()
    }

    /// Begins the change log's file again, now or later.
    private func keepLog() {
        guard store.logProblem != nil else { return }
        guard (try? store.keepLogAgain()) != nil else { return planToKeepLog() }
        logKeptAt = .now()
        log.logger.notice("The change log is kept in its file again.")
    }

    private func planToKeepLog() {
        plan(.keepLog, in: Self.pause(after: lostLogs))
        lostLogs += 1
    }

    // MARK: Settings

    /// Follows the settings as they are, if they have changed.
    private func compareSettings() {
        let domain = try? Domain(DomainName(AgentSettings.domainName))
        var problems: [String] = []
        let new = AgentSettings(domain.map { store.snapshot(of: $0).values } ?? [:], problems: &problems)
        for problem in problems where !settingsProblems.contains(problem) { log.logger.warning("\(problem)") }
        settingsProblems = problems
        guard new != settings else { return }
        settings = new
        log.follow(new)
        store.setLogCapacity(new.logCapacity)
        subscribers.withLock { $0 }?.follow(new)
        // Edits that wait do so by the new delays.
        for (domain, _) in store.pending() { schedulePublishing(domain, .soon) }
        log.logger.info("The settings have changed.")
    }
}

extension Engine: StoreObserver {
    nonisolated func storePosted(in domain: Domain) {
        subscribers.withLock { $0 }?.wake()
        if domain.name.description == AgentSettings.domainName { onLoop { $0.compareSettings() } }
    }

    nonisolated func storeNeedsPublishing(_ domain: Domain, _ urgency: StoreUrgency) {
        // Where others wait already it looks when it is their time, and needn't be woken.
        if urgency == .soon, !waiting.withLock({ $0.add(domain, at: .now()) }) { return }
        onLoop { $0.schedulePublishing(domain, urgency) }
    }

    nonisolated func storeTold(_ event: LogRecord.Event) {
        switch event {
        case .damaged(_, let reason): log.logger.warning("\(reason)")
        case .unsaved(let domain, let reason): log.logger.error("\(domain) could not be saved: \(reason)")
        case .recovered(let domain): log.logger.notice("\(domain) is in order again.")
        case .change, .unknown: break
        }
    }

    nonisolated func storeLostLog(_ error: DefaultsError) {
        log.logger.warning("\(error)")
        onLoop { engine in
            // On a disk that is all but full it may be begun, and soon be given up, again and again.
            if NIODeadline.now() - engine.logKeptAt > .minutes(1) { engine.lostLogs = 0 }
            engine.planToKeepLog()
        }
    }

    nonisolated func storeKept(_ copy: String) {
        log.logger.warning("Content that could not be merged was saved to \(copy).")
    }

    private nonisolated func onLoop(_ body: @escaping @Sendable (isolated Engine) -> Void) {
        eventLoop.execute { self.assumeIsolated { body($0) } }
    }
}
