import CLinux
import DefaultsCore
import DirectoryWatcher
import Glibc
import Linux
import Logging
import ServiceLifecycle

/// The reason why an agent ends.
enum AgentEnd {
    case exit
    case restart
}

/// A service that ends the agent on SIGTERM, SIGINT or a client's request, restarts it on SIGUSR2, and rescans all
/// files on SIGHUP.
///
/// Further signals don't cut the shutdown short: pending edits are saved, and the socket is removed. To skip this, use
/// SIGKILL.
final class LifeService: Service {
    private let signals: SignalDescriptor
    /// A stream that finishes when the agent should shut down.
    private let end: (stream: AsyncStream<Never>, continuation: AsyncStream<Never>.Continuation)
    private let engine: Engine
    private let server: Server
    private let log: AgentLog
    private let state = ForkSafeMutex(State())

    private struct State {
        var reason: AgentEnd?
        /// Whether a restart waits until no edit would be lost.
        var isRestartDelayed = false
        var parentHasEnded = false
    }

    init(
        _ signals: SignalDescriptor, end: (AsyncStream<Never>, AsyncStream<Never>.Continuation), engine: Engine,
        server: Server, log: AgentLog
    ) {
        self.signals = signals
        self.end = end
        self.engine = engine
        self.server = server
        self.log = log
    }

    /// The reason why the agent ends, or will end.
    var reason: AgentEnd { state.withLock(\.reason) ?? .exit }

    /// Waits for the end of the agent, and receives signals meanwhile.
    ///
    /// The service group then shuts down the other services.
    func run() async throws {
        _ = try await signals.read(on: engine.eventLoop) { self.receive($0) }
        await withGracefulShutdownHandler {
            for await _ in end.stream {}
        } onGracefulShutdown: {
            self.end.continuation.finish()
        }
    }

    /// Reacts to a signal, on the event loop; returns whether to read further ones.
    private func receive(_ number: Int32) -> Bool {
        switch number {
        case SIGHUP: engine.assumeIsolated { $0.rescan() }
        case SIGUSR2: return !beginRestart()
        case Signals.parentEnded:
            state.withLock { $0.parentHasEnded = true }
            Parent.leave()
            server.endWhenAlone()
        default:
            state.withLock { $0.reason = .exit }
            end.continuation.finish()
        }
        return true
    }

    /// Begins the shutdown that precedes a restart.
    ///
    /// - Returns: Whether the agent will restart. Signals from then on are for the new program.
    private func beginRestart() -> Bool {
        // Without its parent, a private agent is about to end, and couldn't start again.
        if state.withLock(\.parentHasEnded) { return false }
        if let problem = ProgramRestart.problem {
            log.logger.error("\(problem) This version keeps running.")
            return false
        }
        if !engine.store.unlogged().isEmpty {
            delayRestart()
            return false
        }
        state.withLock { $0.reason = $0.reason ?? .restart }
        end.continuation.finish()
        return reason == .restart
    }

    /// Restarts once no edit would be lost.
    private func delayRestart() {
        let isDelayed = state.withLock { state in
            defer { state.isRestartDelayed = true }
            return state.isRestartDelayed
        }
        if isDelayed { return }
        engine.assumeIsolated { engine in
            engine.start { engine in
                await engine.saveUnloggedBeforeRestart()
                self.state.withLock { $0.isRestartDelayed = false }
                kill(getpid(), SIGUSR2)
            }
        }
    }
}

/// A service that reports that the agent is ready or stopping, on standard error and to the service manager.
struct ReadyService: Service {
    let directory: PreferencesDirectory
    let address: AgentAddress
    let engine: Engine
    let log: AgentLog
    let serviceManager: ServiceManager
    let life: LifeService

    func run() async throws {
        let mode = await engine.events.status.mode
        log.logger.notice(
            "ready: watching \(directory.path) by \(mode), listening on \(address.socketPath)")
        serviceManager.notify("READY=1\nSTATUS=Watching \(directory.path)")
        await waitForEnd()
        switch life.reason {
        case .exit: serviceManager.notify("STOPPING=1")
        case .restart:
            log.logger.notice("Restarting as the installed version.")
            serviceManager.notify("RELOADING=1")
        }
    }
}

/// The process that started this private agent, which is `defaults tail`.
enum Parent {
    /// Arranges for `Signals.parentEnded` to be sent when the given process, which must be the agent's parent, exits.
    static func follow(_ parent: pid_t) throws(DefaultsError) {
        linux_signal_at_end_of_parent(Signals.parentEnded)
        // The parent may have exited before the line above.
        guard getppid() == parent else {
            throw DefaultsError(.agentRefused, "Process \(parent), which started this agent, has already exited.")
        }
        // The agent may outlive the parent, and programs that read the parent's output must see it end.
        discard([STDIN_FILENO, STDOUT_FILENO])
    }

    /// Detaches from standard error, the last inherited stream, once the parent has exited.
    static func leave() { discard([STDERR_FILENO]) }

    private static func discard(_ numbers: [Int32]) {
        guard let nothing = try? FileDescriptor(opening: "/dev/null", O_RDWR) else { return }
        for number in numbers where number != nothing.number { dup2(nothing.number, number) }
    }
}
