import NIOCore
import ServiceLifecycle

/// A task executor that runs tasks on an event loop.
///
/// All of the agent's tasks run this way. Swift's default thread pool is Dispatch's. On Linux, that wakes up once a
/// second for the life of the process to check whether it has enough threads (`_dispatch_workq_monitor_pools` in
/// libdispatch's `workqueue.c`). An idle agent shouldn't wake up at all.
final class EventLoopExecutor: TaskExecutor {
    /// The loop that runs the tasks.
    let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension EventLoop {
    /// Suspends the task until a time.
    ///
    /// `Task.sleep` would also work, but starts Dispatch's pool; see `EventLoopExecutor`.
    func sleep(until time: NIODeadline) async {
        _ = try? await scheduleTask(deadline: time) {}.futureResult.get()
    }
}

extension Service {
    /// Waits until the agent shuts down.
    ///
    /// `gracefulShutdown()` would also work, but starts Dispatch's pool (see `EventLoopExecutor`), which aborts the
    /// process if no file descriptors are left.
    func waitForEnd() async {
        let (end, continuation) = AsyncStream<Never>.makeStream()
        await withGracefulShutdownHandler {
            for await _ in end {}
        } onGracefulShutdown: {
            continuation.finish()
        }
    }
}
