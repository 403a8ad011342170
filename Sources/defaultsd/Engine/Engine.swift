import DefaultsCore
import DirectoryWatcher
import Linux
import Logging
import NIOCore
import ServiceLifecycle

/// The driver of the agent's store, which reloads files reported by the watcher and saves edits when they are due.
///
/// It shares the server's event loop, so a changed file is read, merged and published on the thread that sends the
/// change to the subscribers. Work that may wait for the disk is done by `DiskThread`: saves, and reading files that
/// are large or on a slow file system. Saves have a thread of their own.
///
/// It is an actor, with the loop as its executor, because saves and barriers suspend, and so that the compiler keeps
/// other threads away from its state. The loop's callbacks already run on the actor's executor, so they enter the actor
/// with `assumeIsolated` instead of waiting for another turn of the loop. Only constants are outside the actor, and the
/// state that other threads use without waiting for the disk: the collected edits and the observers, each under its own
/// lock.
actor Engine: Service {
    let store: Store
    /// The watcher, which the loop uses, or the disk's thread if a watched directory is on a slow file system.
    let watcher: ForkSafeMutex<DirectoryWatcher>
    /// The reading of the watcher's events.
    var events: WatcherEvents
    /// The executor that runs tasks on the event loop.
    let executor: EventLoopExecutor
    /// The thread that saves, so that no edit waits while many files, or slow ones, are read.
    private let savingThread = DiskThread()
    /// The thread that does everything else that may wait for the disk.
    private let disk: DiskThread
    /// Whether a watched directory is on a slow file system, so that only `disk` may read files.
    var isSlow = false
    /// The reloads under way, which barriers wait for, and those to be made.
    var reloads = Reloads()
    /// The save that was asked for last, which later requests may share.
    var lastSave: (job: SaveJob, task: Task<[Domain: SaveAttempt], Never>)?
    let log: AgentLog
    private(set) var settings: AgentSettings
    var manifests: AgentManifests
    /// The planned work.
    var schedule = Schedule() { didSet { armTimer() } }
    /// The timer for the item that is due next, and its time.
    private var timer: (time: NIODeadline, task: Scheduled<Void>)?
    /// The domains with edits that are collected to be saved together.
    ///
    /// Each domain in the set has a scheduled or imminent save. A domain is removed before its save begins, so an edit
    /// made while the file is being written schedules another save.
    let delayedSaves = ForkSafeMutex(DelayedSaves())
    /// The obstacles to saving.
    var obstacles = SaveObstacles()
    /// The problems of the directories, the settings and the archive that have been logged.
    var loggedProblems = LoggedProblems()
    /// The reason why the agent can't restart yet as the installed version.
    var restartProblem: DefaultsError?
    /// The maintenance of the journal.
    var maintenance = JournalMaintenance()
    /// The parts of the agent that the engine notifies; set before the first event is read.
    let observers = ForkSafeMutex(Observers())

    struct Observers {
        var subscribers: (any EngineSubscribers)?
        var claimChecks: (any EngineClaimChecks)?
    }

    nonisolated var eventLoop: any EventLoop { executor.eventLoop }
    nonisolated var unownedExecutor: UnownedSerialExecutor { eventLoop.executor.asUnownedSerialExecutor() }

    init(
        store: Store, watcher: ForkSafeMutex<DirectoryWatcher>, settings: AgentSettings,
        problems: [AgentSettings.Problem], manifests: (AgentManifests, warnings: [String]),
        log: AgentLog, on eventLoop: any EventLoop, _ disk: DiskThread
    ) {
        loggedProblems.mark(problems, of: .settings)
        loggedProblems.mark(manifests.warnings, of: .manifests)
        self.manifests = manifests.0
        self.store = store
        self.watcher = watcher
        events = WatcherEvents(status: watcher.withLock(\.status))
        self.settings = settings
        self.log = log
        self.disk = disk
        executor = EventLoopExecutor(eventLoop)
    }

    /// Handles the files that the first scan of the directory couldn't settle, and starts observing the store and the
    /// directory.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the first scan.
    ///   - signals: The signals that say that the watcher has events.
    /// - Throws: The reason why the signals can't be read.
    func begin(after outcome: Store.ReloadOutcome, wokenBy signals: SignalDescriptor) async throws {
        store.observe(with: self)
        isSlow = Self.isSlow(store)
        for (_, error) in store.failures() { log.logger.warning("\(error)") }
        if let problem = store.journal?.problem { storeLostLog(problem) }
        report(outcome.problem)
        reportSystemProblems()
        // The settings were read before the store was observed. Until their file can be read, they stay as they are.
        let isUnread = AgentSettings.domain.map { outcome.beingWritten.contains($0) || outcome.unreadable.contains($0) }
        if isUnread != true { compareSettings() }
        revisit(outcome)
        planManifests()
        // A crash may have left displaced files.
        plan(.examineDisplaced, in: .zero)
        // The settings may have changed while no agent was running, and the last agent may have left a large log.
        maintainJournal()
        // A damaged file is left alone until it is repaired or edited again.
        for (domain, _) in store.pending() where store.snapshot(of: domain).damage == nil {
            storeNeedsSaving(domain, urgency: .immediate)
        }
        events.signals = try await signals.read(on: eventLoop) { _ in
            self.assumeIsolated { $0.readEvents() }
            return true
        }
        readEvents()
    }

    /// Sets the subscribers to wake for new records.
    nonisolated func setSubscribers(_ subscribers: any EngineSubscribers) {
        observers.withLock { $0.subscribers = subscribers }
    }

    /// Sets the checks of the agent's claims to request when the directory has changed.
    nonisolated func setClaimChecks(_ checks: any EngineClaimChecks) {
        observers.withLock { $0.claimChecks = checks }
    }

    /// Waits until the agent shuts down, then saves pending edits.
    func run() async throws {
        await waitForEnd()
        await end()
    }

    // MARK: Threads

    /// Runs a closure where it may wait for the disk, after all earlier ones.
    func onDisk<Value: Sendable>(_ body: @escaping @Sendable (Store) -> Value) async -> Value {
        await run(body, on: disk)
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (Store) -> Value, on thread: DiskThread
    ) async -> Value {
        let value = await thread.run { [store] in body(store) }
        reloadBusyFiles()
        return value
    }

    /// Runs a closure that uses the watcher: on the disk's thread if a watched directory is on a slow file system, and
    /// otherwise on the loop.
    func withWatcher<Value: Sendable>(
        _ body: @escaping @Sendable (ForkSafeMutex<DirectoryWatcher>) -> Value
    ) async -> Value {
        isSlow ? await onDisk { [watcher] _ in body(watcher) } : body(watcher)
    }

    /// Runs a closure that saves, where it may wait for the disk, after all earlier ones.
    ///
    /// Each step of a save is an event for the watcher, which would wake the loop each time, often on the processor on
    /// which the disk's thread is running. So events are left unread meanwhile, for a millisecond at most, which delays
    /// the report of a change in another file by as much.
    func onDiskSaving<Value: Sendable>(_ body: @escaping @Sendable (Store) -> Value) async -> Value {
        // Saves may follow each other without a pause.
        if events.mayBeUnread { readEvents() }
        events.mayBeUnread = true
        events.signals?.pause()
        let limit = eventLoop.scheduleTask(in: Self.pause) { self.assumeIsolated { $0.events.signals?.resume() } }
        let value = await run(body, on: savingThread)
        limit.cancel()
        events.signals?.resume()
        return value
    }

    /// The time for which events may stay unread.
    private static let pause = TimeAmount.milliseconds(1)

    /// Runs a body that suspends, from a callback of the loop.
    func start(_ body: @escaping @Sendable (isolated Engine) async -> Void) {
        Task(executorPreference: executor) { await body(self) }
    }

    // MARK: The schedule

    func plan(_ item: Schedule.Item, in delay: TimeAmount) { schedule.plan(item, at: .now() + delay) }

    func fail(_ item: Schedule.Item) { schedule.fail(item, at: .now()) }

    private func armTimer() {
        let next = schedule.next
        guard timer?.time != next else { return }
        timer?.task.cancel()
        timer = next.map { time in
            (time, eventLoop.scheduleTask(deadline: time) { self.assumeIsolated { $0.performDueItems() } })
        }
    }

    private func performDueItems() {
        for item in schedule.dequeueDue(at: .now()) {
            switch item {
            case .reloadOpen(let domain), .reloadUnreadable(let domain): startReload(of: domain, .confirmLater)
            case .confirmLoss(let domain): startReload(of: domain, .believe)
            case .save(let domain): start { await $0.saveIfDue(domain) }
            case .reloadAll: postpone(.init(isAll: true))
            case .readManifests: postpone(.init(readsManifests: true))
            case .readEvents: readDueEvents()
            case .maintainJournal: if store.journal?.needsMaintenance == true { maintainJournal() }
            case .examineDisplaced:
                start { if await $0.examineDisplaced() { $0.fail(item) } else { $0.schedule.succeed(item) } }
            }
        }
    }

    private func startReload(of domain: Domain, _ losses: Store.LossPolicy) {
        // A barrier that begins before the task runs must know of the reload.
        let number = reloads.begin([domain.name])
        start { engine in
            await engine.reload(domain, losses: losses)
            engine.reloads.end(number)
        }
    }

    /// Examines displaced files.
    ///
    /// - Returns: Whether files remain that must be examined again; a program may keep one open indefinitely.
    @discardableResult
    func examineDisplaced() async -> Bool {
        let age = Duration.nanoseconds(Self.displacedAge.nanoseconds)
        while await onDiskSaving({ $0.releaseSomeDisplaced(olderThan: age) }) {}
        return await onDiskSaving { $0.examineDisplaced(olderThan: age) }
    }

    // MARK: Settings

    /// Applies the current settings if they have changed.
    private func compareSettings() {
        var problems: [AgentSettings.Problem] = []
        let snapshot = AgentSettings.domain.map { store.snapshot(of: $0) }
        var new = AgentSettings(snapshot?.values ?? [:], problems: &problems)
        // While the patterns can't be read, the last known ones apply, so that no secret gets into the history.
        if snapshot?.damage != nil || new.historyExclusions.areUnknown {
            new.historyExclusions = settings.historyExclusions
        }
        loggedProblems.log(problems, of: .settings, to: log.logger)
        guard new != settings else { return }
        log.follow(new)
        store.setLogCapacity(new.logCapacity)
        let hasNewExclusions = new.historyExclusions != settings.historyExclusions
        settings = new
        if hasNewExclusions { applyExclusions() }
        observers.withLock { $0.subscribers }?.follow(new)
        // The new delays apply to edits that are already pending.
        for (domain, _) in store.pending() { scheduleSave(of: domain, urgency: .delayed) }
        log.logger.info("The settings have changed.")
    }
}

/// The engine's view of the agent's subscribers, which the server provides.
protocol EngineSubscribers: AnyObject, Sendable {
    /// Makes every subscription check for new records.
    ///
    /// May be called on any thread; frequent calls are cheap.
    func wake()
    /// Sends new records without waiting for the next turn of the loop; called only on the event loop.
    func sendNow()
    /// Applies the limits of changed settings.
    func follow(_ settings: AgentSettings)
}

/// The engine's view of the checks of the agent's claims.
protocol EngineClaimChecks: AnyObject, Sendable {
    /// Requests a check.
    func request()
    /// Requests a check if a claim or the socket is gone.
    func requestIfNeeded()
}

extension Engine: StoreObserver {
    nonisolated func storePublished(in domain: Domain) {
        observers.withLock { $0.subscribers }?.wake()
        if domain == AgentSettings.domain { onLoop { $0.compareSettings() } }
    }

    nonisolated func storeNeedsSaving(_ domain: Domain, urgency timing: SaveTiming) {
        // If other edits have already been collected, the engine has a save planned and needn't be woken.
        if timing == .delayed, !delayedSaves.withLock({ $0.add(domain, at: .now()) }) { return }
        onLoop { $0.scheduleSave(of: domain, urgency: timing) }
    }

    nonisolated func storeReported(_ event: LogRecord.Event) {
        switch event {
        case .damaged(_, let reason): log.logger.warning("\(reason)")
        case .unsaved(let domain, let reason): log.logger.error("\(domain) could not be saved: \(reason)")
        case .recovered(let domain): log.logger.notice("\(domain) recovered.")
        case .change, .unknown: break
        }
    }

    nonisolated func storeLostLog(_ error: DefaultsError) {
        log.logger.warning("\(error)")
        onLoop { engine in
            // On an almost full disk, the log may repeatedly be written for a while, and then fail again.
            let age = NIODeadline.now() - engine.maintenance.logBegunAt
            if age > .minutes(1) { engine.schedule.succeed(.maintainJournal) }
            engine.fail(.maintainJournal)
        }
    }

    nonisolated func storeNeedsMaintenance() { onLoop { $0.maintainJournal() } }

    nonisolated func storeMadeCopy(_ copy: String) {
        log.logger.warning("\(BackupFile.message(ofCopy: copy))")
    }

    private nonisolated func onLoop(_ body: @escaping @Sendable (isolated Engine) -> Void) {
        eventLoop.execute { self.assumeIsolated { body($0) } }
    }
}
