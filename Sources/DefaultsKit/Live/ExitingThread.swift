import Glibc

/// The thread that ends the process: the first of those that call `exit`.
enum ExitingThread {
    private static let first = ForkSafeMutex<(process: pid_t, thread: pthread_t)?>(nil)

    /// Hands over the process's edits, on the first thread; any other sleeps until the process has ended, as it would in glibc
    /// from 2.41 on.
    static func handOver() {
        let (process, thread) = (getpid(), pthread_self())
        let isFirst = first.withLock { first in
            // A child that was forked meanwhile has threads of its own.
            if first?.process != process { first = (process, thread) }
            return first?.thread == thread
        }
        while !isFirst { pause() }
        LiveDomains.shared.handOver()
    }
}
