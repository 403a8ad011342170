import NIOCore

/// Runs tasks on an event loop.
///
/// The agent runs all of its tasks so. Swift's own pool of threads is Dispatch's, which on Linux wakes once a second for as
/// long as the process lives to see whether its threads are enough (`_dispatch_workq_monitor_pools` in libdispatch's
/// `workqueue.c`); an agent that has nothing to do does nothing.
final class LoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
