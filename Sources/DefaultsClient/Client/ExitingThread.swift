import CFork
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
    /// The number of handlers.
    ///
    /// Each call of `exit` runs one, and replaces it unless it is the first call. More handlers might not fit in the C
    /// library's first list. It frees any other list, which never ends if a signal handler has interrupted `malloc` to
    /// call `exit`.
    private static let handlers = 16

    /// Arranges for the process's edits to be handed over when it exits normally.
    static func begin() {
        for _ in 0..<handlers { addHandler() }
        // Once more at the very end, for edits by exit handlers that were registered before these.
        linux_at_end {
            if fork_is_locked() { return }
            Client.shared.handOver()
            FileSuites.handOver()
        }
    }

    /// Whether an interruption has been reported.
    private static let isInterrupted = Atomic(false)

    /// Reports that a signal handler called `exit` within a call of the library.
    ///
    /// The thread holds a lock that the handing over needs, and this function returns only to `exit`. Nothing may be
    /// allocated here.
    private static func reportInterruption() {
        if isInterrupted.exchange(true, ordering: .relaxed) { return }
        let text: StaticString = """
            UserDefaults: A signal handler called exit while a value was being read or set, so the last edits may not \
            have been saved. Ignore the signal with signal(SIGTERM, SIG_IGN), handle it with \
            DispatchSource.makeSignalSource, and call exit there.

            """
        _ = Glibc.write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }

    private static func addHandler() { on_exit({ status, _ in ExitingThread.end(status) }, nil) }

    /// Hands over edits on the first thread; any other thread sleeps until the process has ended.
    private static func end(_ status: Int32) {
        if fork_is_locked() { return reportInterruption() }
        let (process, thread) = (getpid(), pthread_self())
        let isFirst = first.withLock { first in
            // A forked child has its own threads.
            if first?.process != process { first = (process, thread) }
            return first?.thread == thread
        }
        if !isFirst {
            otherExits.add(1, ordering: .relaxed)
            addHandler()
            while true { pause() }
        }
        Client.shared.handOver()
        FileSuites.handOver()
        // Other threads may have used up the list that contains this handler and freed it, so it must not return.
        if otherExits.load(ordering: .relaxed) > 0 { exit(status) }
    }
}
