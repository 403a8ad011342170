import CLinux
import DefaultsCore
import DirectoryWatcher
import Glibc
import Linux
import Logging
import NIOCore
import NIOPosix
import PropertyList
import ServiceLifecycle

/// The agent as a whole: the watcher, store, engine and server, and the order in which they start and stop.
struct Agent: Sendable {
    private let directory: PreferencesDirectory
    private let system: SystemDirectories
    private let address: AgentAddress
    /// The socket that a service manager has opened at the address, if any.
    private let inherited: InheritedSocket?
    private let signals: Signals
    private let logLevel: Logger.Level?
    /// Whether the agent was started only for the lifetime of another process, and hands over to any agent that wasn't.
    private let isPrivate: Bool
    private let environment: Environment

    /// Creates an agent.
    ///
    /// - Parameters:
    ///   - directory: The preferences directory to serve.
    ///   - address: The address of the agent, which determines the paths of the socket and the change log.
    ///   - inherited: The socket that a service manager has opened at the address, if any.
    ///   - signals: The signals that control the agent.
    ///   - logLevel: The log level that overrides the settings, if any.
    ///   - isPrivate: Whether the agent hands over to other agents.
    ///   - environment: The environment, which specifies the system directories and the service manager.
    init(
        serving directory: PreferencesDirectory, at address: AgentAddress, inheriting inherited: InheritedSocket?,
        signals: Signals, logLevel: Logger.Level?, isPrivate: Bool, environment: Environment
    ) {
        self.directory = directory
        system = SystemDirectories(environment: environment).excluding(directory)
        self.address = address
        self.inherited = inherited
        self.signals = signals
        self.logLevel = logLevel
        self.isPrivate = isPrivate
        self.environment = environment
    }

    /// Runs the agent until a signal ends it, and blocks the calling thread.
    ///
    /// - Returns: The reason for the end.
    /// - Throws: A `DefaultsError` if the directory, the socket or enough file descriptors are unavailable.
    func run() throws -> AgentEnd {
        linux_share_heap()
        try directory.prepare()
        try address.makeDirectory()
        // No other agent serves the directory or the socket until these are released.
        let claims = try AgentClaims(on: directory, at: address, asksOthers: !isPrivate)
        defer { claims.release() }
        // The loop of the connections, the engine and all tasks; see `EventLoopExecutor`.
        let eventLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
        let end = eventLoop.makePromise(of: AgentEnd.self)
        Task(executorPreference: EventLoopExecutor(eventLoop)) {
            do {
                end.succeed(try await serve(on: eventLoop, claims))
            } catch {
                end.fail(error)
            }
        }
        return try end.futureResult.wait()
    }

    private func serve(on eventLoop: any EventLoop, _ claims: AgentClaims) async throws -> AgentEnd {
        let checks = ClaimChecks(claims)
        let end = AsyncStream<Never>.makeStream()
        let disk = DiskThread()
        guard
            let (watcher, settings, problems, manifests, log, store, outcome) = try await open(
                on: eventLoop, with: disk, holding: claims, orEnd: end.continuation)
        else { return .exit }
        let engine = Engine(
            store: store, watcher: watcher, settings: settings, problems: problems, manifests: manifests, log: log,
            on: eventLoop, disk)
        let server = Server(
            store: store, engine: engine, directory: directory, address: address,
            inherited: inherited, settings: settings, log: log, isPrivate: isPrivate, on: eventLoop,
            end: { end.continuation.finish() })
        engine.setSubscribers(server)
        engine.setClaimChecks(checks)
        checks.follow(server)
        try await engine.begin(after: outcome, wokenBy: signals.events)
        try await server.listen()
        // Reading all files took much more memory than what they hold.
        linux_release_freed_memory()

        let life = LifeService(signals.control, end: end, engine: engine, server: server, log: log)
        let serviceManager = ServiceManager(environment, on: eventLoop)
        let ready = ReadyService(
            directory: directory, address: address, engine: engine, log: log,
            serviceManager: serviceManager, life: life)
        // Services stop in reverse order, so the server has stopped accepting edits when the engine saves the last
        // ones.
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: ClaimService(
                            claims: claims, checks: checks, server: server, log: log, eventLoop: eventLoop),
                        successTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: engine), .init(service: server), .init(service: ready),
                    .init(service: life, successTerminationBehavior: .gracefullyShutdownGroup),
                ], logger: log.lifecycle))
        try await group.run()
        serviceManager.sendAgain()
        return life.reason
    }

    /// The parts of the agent that exist once the files have been read.
    private typealias Opened = (
        watcher: ForkSafeMutex<DirectoryWatcher>, settings: AgentSettings, problems: [AgentSettings.Problem],
        manifests: (AgentManifests, warnings: [String]), log: AgentLog, store: Store, outcome: Store.ReloadOutcome
    )

    /// Reads all files on a thread that may wait, unless a signal ends the agent meanwhile.
    ///
    /// After such a signal, the stream is finished, and the process must exit, whatever the thread is waiting for.
    private func open(
        on eventLoop: any EventLoop, with disk: DiskThread, holding claims: AgentClaims,
        orEnd end: AsyncStream<Never>.Continuation
    ) async throws -> Opened? {
        let opening = eventLoop.makePromise(of: Opened?.self)
        let reader = try await signals.starting.read(on: eventLoop) { _ in
            end.finish()
            opening.succeed(nil)
            return false
        }
        Task(executorPreference: EventLoopExecutor(eventLoop)) {
            opening.completeWith(await disk.run { Result { try open(claims) } })
        }
        defer { reader.close() }
        return try await opening.futureResult.get()
    }

    private func open(_ claims: AgentClaims) throws -> Opened? {
        // Start the watcher before files and connections are opened, because libinotifytools can't use a descriptor
        // above 1023.
        var manifests = AgentManifests(in: ManifestDirectories(environment: environment))
        let watcher = ForkSafeMutex(try Self.watch(directory, and: system.paths + manifests.directories.paths))
        var (settings, problems) = AgentSettings.read(from: directory)
        let log = AgentLog(level: logLevel, settings: settings)
        problems.forEach { log.logger.warning("\($0)") }
        if let exposure = directory.exposure { log.logger.warning("\(exposure)") }
        if let unclaimed = claims.problem {
            log.logger.warning("\(unclaimed) \(ClaimService.consequence)")
        }
        // Everything in the directory is about to be read, so the watcher's events so far are redundant.
        _ = watcher.withLock { $0.read() }
        let (journal, problem) = Journal.claim(
            LogLocation(for: directory, socketAt: address.socketPath, environment: environment))
        if let problem { log.logger.warning("\(problem)") }
        if settings.historyExclusions.areUnknown {
            let known = ExclusionsFile(besideLog: journal.location.log).exclusions
            settings.historyExclusions = known ?? .unknown
            log.logger.warning(
                """
                The setting HistoryExcludes can't be read. Until it can, \
                \(known == nil ? "no values get into the history." : "the last known patterns apply.")
                """)
        }
        let set = manifests.read()
        set.warnings.forEach { log.logger.warning("\($0)") }
        let earlier = ExclusionsFile(besideLog: journal.location.log).exclusions
        if let warning = manifests.apply(set, earlier: earlier?.sensitive ?? []) { log.logger.warning("\(warning)") }
        let (store, outcome) = try Self.open(
            directory, system: system, journal: journal, settings: settings,
            excluding: settings.historyExclusions.adding(manifests.exclusions), log: log)
        store.setManifests(set)
        return (watcher, settings, problems, (manifests, set.warnings), log, store, outcome)
    }

    private static func watch(
        _ directory: PreferencesDirectory, and companions: [String]
    ) throws(DefaultsError) -> sending DirectoryWatcher {
        do throws(WatcherError) {
            return try DirectoryWatcher(
                .init(
                    directory: directory.path, subdirectories: [Domain.hostDirectory], companions: companions,
                    signal: Signals.eventNumber
                ) {
                    Domain(fileName: $0) != nil || $0 == AgentClaim.fileName
                })
        } catch {
            throw DefaultsError(.directory, "\(error)")
        }
    }

    /// Reads every file for the first time, and resumes the change log of an earlier agent.
    private static func open(
        _ directory: PreferencesDirectory, system: SystemDirectories, journal: Journal, settings: AgentSettings,
        excluding exclusions: HistoryExclusions, log: AgentLog
    ) throws(DefaultsError) -> (Store, Store.ReloadOutcome) {
        let start = ContinuousClock.now
        var limits = PropertyListLimits.domainFile
        limits.bytes = settings.maximumFileSize
        let earlier = try recover(from: journal.location, excluding: exclusions)
        earlier.warnings.forEach { log.logger.warning("\($0)") }
        let store = Store(
            directory: directory, system: system, limits: limits, log: earlier.changeLog(settings.logCapacity),
            journal: journal)
        let outcome = try store.start(resuming: earlier.log)
        // If this fails, the engine reports the failure and retries.
        store.beginJournal(continuing: earlier.log, excluding: exclusions)
        if journal.problem == nil, earlier.hasWholeFallback { journal.location.removeFallback() }
        log.logger.debug("\(store.domains().count) domains read in \(ContinuousClock.now - start)")
        return (store, outcome)
    }

    /// Recovers what earlier agents left, and tries again for a while if that can't be read.
    private static func recover(
        from location: LogLocation, excluding exclusions: HistoryExclusions
    ) throws(DefaultsError) -> RecoveredHistory {
        var backoff = Backoff(from: .milliseconds(20), to: .milliseconds(200), timeout: .seconds(2))
        while true {
            do throws(DefaultsError) {
                return try RecoveredHistory(at: location, excluding: exclusions.ofEarlierEntries)
            } catch {
                if !backoff.wait() { throw error }
            }
        }
    }
}
