import CLinux
import DefaultsCore
import DirectoryWatcher
import Glibc
import Linux
import Logging
import NIOPosix
import ServiceLifecycle

/// An event in the agent's life cycle.
enum LifeEvent {
    /// The agent should shut down.
    case end
    /// Every file should be checked.
    case rescan
    /// The process that started this private agent has exited.
    case parentEnded
}

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
///
/// A thread waits for signals with `sigwait`. (UnixSignals would also work, but starts Dispatch's pool; see
/// `EventLoopExecutor`.)
final class LifeService: Service {
    let events: AsyncStream<LifeEvent>
    let continuation: AsyncStream<LifeEvent>.Continuation
    let watcher: DirectoryWatcher
    let server: Server
    let log: AgentLog
    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let end = ForkSafeMutex<AgentEnd?>(nil)

    init(
        events: AsyncStream<LifeEvent>, continuation: AsyncStream<LifeEvent>.Continuation, watcher: DirectoryWatcher,
        server: Server, log: AgentLog
    ) {
        self.events = events
        self.continuation = continuation
        self.watcher = watcher
        self.server = server
        self.log = log
    }

    /// The reason why the agent ends, or will end.
    var reason: AgentEnd { end.withLock { $0 } ?? .exit }

    private static var waitedFor: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP, SIGUSR2, Parent.signal] { sigaddset(&set, number) }
        return set
    }

    /// Blocks the signals in all threads except the one that waits for them.
    ///
    /// Must be called before any other thread starts, since threads inherit the signal mask.
    static func blockSignals() {
        var set = waitedFor
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the event that ends the agent.
    ///
    /// The service group then shuts down the other services.
    func run() async throws {
        pool.start()
        pool.submit { [self] _ in
            var set = Self.waitedFor
            var parentHasEnded = false
            while true {
                var number: Int32 = 0
                guard sigwait(&set, &number) == 0 else { continue }
                switch number {
                case SIGHUP: continuation.yield(.rescan)
                case SIGUSR2:
                    // Without its parent, a private agent is about to end, and couldn't start again.
                    if parentHasEnded { continue }
                    if let problem = ProgramRestart.problem {
                        log.logger.error("\(problem) This version keeps running.")
                        continue
                    }
                    end.withLock { $0 = $0 ?? .restart }
                    continuation.yield(.end)
                    // Signals from now on stay pending, and reach the new program.
                    if reason == .restart { return }
                case Parent.signal:
                    parentHasEnded = true
                    continuation.yield(.parentEnded)
                default:
                    end.withLock { $0 = .exit }
                    continuation.yield(.end)
                }
            }
        }
        await withGracefulShutdownHandler {
            for await event in events {
                switch event {
                case .end: return
                case .rescan: watcher.requestRescan()
                case .parentEnded:
                    Parent.leave()
                    server.endWhenAlone()
                }
            }
        } onGracefulShutdown: { [continuation] in
            continuation.finish()
        }
    }
}

/// A service that reports that the agent is ready or stopping, on standard error and to the service manager.
struct ReadyService: Service {
    let directory: PreferencesDirectory
    let address: AgentAddress
    let watcher: DirectoryWatcher
    let log: AgentLog
    let serviceManager: ServiceManager
    let life: LifeService

    func run() async throws {
        log.logger.notice(
            "ready: watching \(directory.path) by \(watcher.status.mode), listening on \(address.socketPath)")
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
    /// The signal that reports the parent's exit.
    static let signal = SIGUSR1

    /// Arranges for the signal to be sent when the given process, which must be the agent's parent, exits.
    static func follow(_ parent: pid_t) throws(DefaultsError) {
        linux_signal_at_end_of_parent(signal)
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
