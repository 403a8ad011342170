import CLinux
import Glibc
import Linux
import Synchronization

/// The thread that ends the process: the first of those that call `exit`.
///
/// Before 2.41 glibc lets threads run exit handlers side by side, each handler once, and the first thread that finds none left
/// ends the process.
enum ExitingThread {
    private static let first = ForkSafeMutex<(process: pid_t, thread: pthread_t)?>(nil)
    private static let others = Atomic(0)
    /// So many threads may call `exit` at once.
    private static let handlers = 64

    /// Has the process's edits handed over when it ends by itself.
    static func begin() {
        for _ in 0..<handlers { on_exit({ status, _ in ExitingThread.end(status) }, nil) }
        // At the very end once more, for what handlers set that were registered before these.
        linux_at_end {
            LiveDomains.shared.handOver()
            FileSuites.handOver()
        }
    }

    /// Hands over on the first thread; any other sleeps until the process has ended.
    private static func end(_ status: Int32) {
        let (process, thread) = (getpid(), pthread_self())
        let isFirst = first.withLock { first in
            // A child that was forked meanwhile has threads of its own.
            if first?.process != process { first = (process, thread) }
            return first?.thread == thread
        }
        if !isFirst {
            others.add(1, ordering: .relaxed)
            while true { pause() }
        }
        LiveDomains.shared.handOver()
        FileSuites.handOver()
        // The others may have used up the list that this handler is in, and freed it: then nothing is to return to it.
        if others.load(ordering: .relaxed) > 0 { exit(status) }
    }
}
