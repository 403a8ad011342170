import DirectoryWatcher
import Glibc
import NIOPosix
import ServiceLifecycle

/// An event in the life of the agent as a whole.
enum LifeEvent {
    /// The agent is to end.
    case end
    /// Every file is to be looked at.
    case rescan
    /// The process for which a private agent was started has ended.
    case parentEnded
}

/// Ends the agent on SIGTERM and SIGINT, or when a client may ask for it, and has every file looked at on SIGHUP.
///
/// The end is never cut short, however many signals ask for it: what is pending is saved, and the socket removed. Who can't
/// wait for that has SIGKILL.
///
/// A thread waits for signals with `sigwait`. (UnixSignals would do, if it didn't start Dispatch's pool: see `LoopExecutor`.)
struct LifeService: Service {
    let events: AsyncStream<LifeEvent>
    let continuation: AsyncStream<LifeEvent>.Continuation
    let watcher: DirectoryWatcher
    let server: Server
    private let pool = NIOThreadPool(numberOfThreads: 1)

    init(
        events: AsyncStream<LifeEvent>, continuation: AsyncStream<LifeEvent>.Continuation, watcher: DirectoryWatcher,
        server: Server
    ) {
        self.events = events
        self.continuation = continuation
        self.watcher = watcher
        self.server = server
    }

    private static var waitedFor: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP, Parent.signal] { sigaddset(&set, number) }
        return set
    }

    /// Keeps the signals for the thread that waits for them.
    ///
    /// Called before any other thread is started, since threads inherit what is blocked.
    static func blockSignals() {
        var set = waitedFor
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the event that ends the agent; as the service group is told, its end is the others'.
    func run() async throws {
        pool.start()
        pool.submit { [continuation] _ in
            var set = Self.waitedFor
            while true {
                var number: Int32 = 0
                guard sigwait(&set, &number) == 0 else { continue }
                switch number {
                case SIGHUP: continuation.yield(.rescan)
                case Parent.signal: continuation.yield(.parentEnded)
                default: continuation.yield(.end)
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
        } onGracefulShutdown: {
            continuation.finish()
        }
    }
}
