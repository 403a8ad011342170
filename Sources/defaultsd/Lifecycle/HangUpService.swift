import DirectoryWatcher
import ServiceLifecycle
import UnixSignals

/// Has every file looked at on SIGHUP.
struct HangUpService: Service {
    let watcher: DirectoryWatcher

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            watcher.requestRescan()
        }
    }
}
