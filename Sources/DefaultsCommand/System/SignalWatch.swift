import CLinux
import DefaultsCore
import Glibc
import Linux

/// A watch on SIGCHLD, and on the signals that would end this process, while a command runs.
///
/// The signals are blocked, and polled instead.
struct SignalWatch: ~Copyable {
    /// The outcome of a wait.
    enum Event {
        /// A child may have changed state, or the other descriptor is ready.
        case childChanged
        /// A signal that should end this process.
        case signal(Int32)
        /// The signal that stops this process (Ctrl-Z).
        case stop
        case timeout
    }

    private let descriptor: FileDescriptor
    /// The signal mask to restore.
    private let former: sigset_t

    /// Blocks the signals.
    ///
    /// - Parameter stops: Whether to block SIGTSTP, too.
    /// - Throws: If the signals can't be polled.
    init(stops: Bool = false) throws(Failure) {
        var former = sigset_t()
        pthread_sigmask(SIG_SETMASK, nil, &former)
        self.former = former
        let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD] + (stops ? [SIGTSTP] : [])
        descriptor = FileDescriptor(owning: linux_signalfd(signals, Int32(signals.count)))
        guard descriptor.number >= 0 else {
            throw Failure("Can't wait for signals: \(SystemCall.message(errno)).", .inputOutput)
        }
    }

    deinit {
        // Signals that arrived in the meantime take effect now.
        var former = former
        pthread_sigmask(SIG_SETMASK, &former, nil)
    }

    /// Waits for a signal, for another descriptor, or until a deadline.
    borrowing func wait(
        for other: pollfd = pollfd(fd: -1, events: 0, revents: 0), until end: ContinuousClock.Instant? = nil
    ) -> Event {
        let number = linux_next_signal(descriptor.number)
        switch number {
        case 0: break
        case SIGCHLD: return .childChanged
        case SIGTSTP: return .stop
        default: return .signal(number)
        }
        let left = end.map { max(0, ($0 - .now) / .milliseconds(1)).rounded(.up) }
        if left == 0 { return .timeout }
        var polls = [pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0), other]
        poll(&polls, 2, left.map { Int32(clamping: Int64($0)) } ?? -1)
        return .childChanged
    }

    /// Ends this process with a signal.
    ///
    /// It never returns, but isn't marked `Never`, because the compiler would then report a missing `deinit`.
    borrowing func end(by number: Int32) {
        signal(number, SIG_DFL)
        raise(number)
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, number)
        pthread_sigmask(SIG_UNBLOCK, &only, nil)
        exit(128 + number)
    }
}
