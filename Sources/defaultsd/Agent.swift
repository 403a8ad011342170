import DefaultsCore
import DirectoryWatcher
import Glibc
import Logging
import NIOPosix
import PropertyList
import ServiceLifecycle
import UnixSignals

/// The agent, put together: watcher, store, engine and server, and the order in which they begin and end.
enum Agent {
    /// Runs the agent until a signal ends it.
    ///
    /// - Parameters:
    ///   - directory: what it serves.
    ///   - address: where it listens, and keeps the change log.
    ///   - logLevel: what is logged, whatever the settings say.
    ///   - environment: names the service manager.
    /// - Throws: `DefaultsError` when the directory or the socket can't be had.
    static func run(
        _ directory: PreferencesDirectory, _ address: AgentAddress, logLevel: Logger.Level?, _ environment: Environment
    ) async throws {
        try directory.prepare()
        try address.makeDirectory()
        // Nobody else serves the directory, or the socket, while these live.
        let claims = [try AgentClaim(onDirectory: directory), try AgentClaim(onSocket: address)]
        defer { withExtendedLifetime(claims) {} }

        // First, since libinotifytools can't use a descriptor above 1023.
        let watcher = try watch(directory)
        let (settings, problems) = AgentSettings.read(from: directory)
        let log = AgentLog(level: logLevel, settings: settings)
        problems.forEach { log.logger.warning("\($0)") }

        let (store, unsettled) = try open(directory, address, settings, log)
        let engine = Engine(
            store: store, watcher: watcher, settings: settings, log: log,
            on: MultiThreadedEventLoopGroup(numberOfThreads: 1).next())
        let server = Server(
            store: store, engine: engine, watcher: watcher, directory: directory, address: address,
            settings: settings, log: log)
        engine.tell(server)
        await engine.begin(unsettled)
        try await server.listen()

        let ready = ReadyService(
            directory: directory, address: address, watcher: watcher, log: log,
            serviceManager: ServiceManager(environment))
        // They end in the reverse order: the server takes no more edits when the engine saves the last ones.
        let group = ServiceGroup(
            services: [engine, server, HangUpService(watcher: watcher), ready],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: log.lifecycle)
        try await group.run()
    }

    private static func watch(_ directory: PreferencesDirectory) throws(DefaultsError) -> DirectoryWatcher {
        do throws(WatcherError) {
            return try DirectoryWatcher(
                .init(directory: directory.path, subdirectories: [Domain.hostDirectory]) {
                    Domain(fileName: $0) != nil
                })
        } catch {
            throw DefaultsError(.directory, "\(error)")
        }
    }

    /// Looks at every file for the first time, and takes up the log of an agent that ran before.
    private static func open(
        _ directory: PreferencesDirectory, _ address: AgentAddress, _ settings: AgentSettings, _ log: AgentLog
    ) throws(DefaultsError) -> (Store, Store.Unsettled) {
        let start = ContinuousClock.now
        var limits = DomainFile.standardLimits
        limits.bytes = settings.maximumFileSize
        let recovered = ChangeLogFile.recover(from: address.logPath(for: directory), limits: Frame.messageLimits)
        let changeLog = ChangeLog(
            capacity: settings.logCapacity, epoch: recovered?.epoch ?? .random(), head: recovered?.head ?? 0,
            records: recovered?.records ?? [])

        let store = Store(directory: directory, limits: limits, log: changeLog)
        let unsettled =
            if let recovered { try store.resume(recovered) } else { try store.lookAtAll(isBaseline: true) }
        do throws(SystemCall.Failure) {
            try store.keepLog(at: address.logPath(for: directory))
        } catch {
            log.logger.warning(
                "The change log isn't kept in \(address.logPath(for: directory)): \(SystemCall.message(error.number)).")
        }
        log.logger.debug("\(store.domains().count) domains read in \(ContinuousClock.now - start)")
        return (store, unsettled)
    }
}
