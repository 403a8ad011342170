import NIOPosix

/// A thread that does what may wait for the disk, one job after another.
///
/// So the event loop, which serves the clients, never waits: not for `fsync`, a directory's lock, or a slow file
/// system. One such thread saves and another reads, so that edits are saved while many files, or slow ones, are read. A
/// thread lasts as long as the process, because NIO would start Dispatch's pool to end it; see
/// `EventLoopExecutor`.
struct DiskThread: Sendable {
    private let pool = NIOThreadPool(numberOfThreads: 1)

    init() { pool.start() }

    /// Runs a job after all earlier ones, and suspends the task until it is done.
    func run<Value: Sendable>(_ job: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            pool.submit { _ in continuation.resume(returning: job()) }
        }
    }
}
