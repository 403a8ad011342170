import DirectoryWatcher
import Glibc
import NIOPosix
import ServiceLifecycle

/// Ends the agent on SIGTERM and SIGINT, at once on the second, and has every file looked at on SIGHUP.
///
/// A thread waits for them with `sigwait`. (UnixSignals would do, if it didn't start Dispatch's pool: see `LoopExecutor`.)
struct SignalService: Service {
    let watcher: DirectoryWatcher
    private let pool = NIOThreadPool(numberOfThreads: 1)

    init(watcher: DirectoryWatcher) {
        self.watcher = watcher
    }

    private static var waitedFor: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
        return set
    }

    /// Keeps the signals for the thread that waits for them.
    ///
    /// Called before any other thread is started, since threads inherit what is blocked.
    static func block() {
        var set = waitedFor
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the signal that ends the agent; as the service group is told, its end is the others'.
    func run() async throws {
        let (signals, continuation) = AsyncStream<Int32>.makeStream()
        pool.start()
        pool.submit { _ in
            var set = Self.waitedFor
            var isEnding = false
            while true {
                var number: Int32 = 0
                guard sigwait(&set, &number) == 0 else { continue }
                if number != SIGHUP {
                    // Whoever asks twice doesn't want to wait for the disk.
                    if isEnding { _exit(128 + number) }
                    isEnding = true
                }
                continuation.yield(number)
            }
        }
        await withGracefulShutdownHandler {
            for await number in signals {
                guard number == SIGHUP else { return }
                watcher.requestRescan()
            }
        } onGracefulShutdown: {
            continuation.finish()
        }
    }
}
