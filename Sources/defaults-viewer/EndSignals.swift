#if Viewer
import Glibc

/// The signals that end the program, which are blocked for all threads that start later.
struct EndSignals {
    private var signals = sigset_t()

    init() {
        sigemptyset(&signals)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Waits for one of them.
    func wait() {
        var (signals, number) = (signals, Int32(0))
        while sigwait(&signals, &number) != 0 {}
    }
}
#endif
