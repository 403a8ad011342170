import CLinux
import Glibc
import Linux
import Synchronization

/// The thread that ends the process, which is the first one to call `exit`.
///
/// Before version 2.41, glibc lets several threads run exit handlers concurrently, each handler once, and the first
/// thread that finds no more handlers ends the process.
enum ExitingThread {
    private static let first = ForkSafeMutex<(process: pid_t, thread: pthread_t)?>(nil)
    private static let otherExits = Atomic(0)
    /// The maximum number of threads that may call `exit` at the same time.
    private static let handlers = 64

    /// Arranges for the process's edits to be handed over when it exits normally.
    static func begin() {
        for _ in 0..<handlers { on_exit({ status, _ in ExitingThread.end(status) }, nil) }
        // Once more at the very end, for edits by exit handlers that were registered before these.
        linux_at_end {
            Client.shared.handOver()
            FileSuites.handOver()
        }
    }

    /// Hands over edits on the first thread; any other thread sleeps until the process has ended.
    private static func end(_ status: Int32) {
        let (process, thread) = (getpid(), pthread_self())
        let isFirst = first.withLock { first in
            // A forked child has its own threads.
            if first?.process != process { first = (process, thread) }
            return first?.thread == thread
        }
        if !isFirst {
            otherExits.add(1, ordering: .relaxed)
            while true { pause() }
        }
        Client.shared.handOver()
        FileSuites.handOver()
        // Other threads may have used up the list that contains this handler and freed it, so it must not return.
        if otherExits.load(ordering: .relaxed) > 0 { exit(status) }
    }
}
