import CLinux
import DefaultsCore
import Glibc

/// Signals that would end this process, and the one of a child's end, held back while a command runs.
struct SignalWatch: ~Copyable {
    /// What a wait ended with.
    enum Event {
        /// A child may have ended, or what else was waited for has come.
        case somethingHappened
        /// A signal that is to end this process.
        case signal(Int32)
        /// The signal that stops this process (Ctrl-Z).
        case stop
        case timeIsOver
    }

    private let descriptor: FileDescriptor
    /// The signals that were blocked before.
    private let former: sigset_t

    /// Holds the signals back.
    ///
    /// - Parameter stops: whether to hold back the one that stops this process, too.
    /// - Throws: when they can't be waited for.
    init(stops: Bool = false) throws(Failure) {
        var former = sigset_t()
        pthread_sigmask(SIG_SETMASK, nil, &former)
        self.former = former
        let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD] + (stops ? [SIGTSTP] : [])
        descriptor = FileDescriptor(owning: linux_signalfd(signals, Int32(signals.count)))
        guard descriptor.number >= 0 else {
            throw Failure("Signals can't be waited for: \(SystemCall.message(errno)).", .inputOutput)
        }
    }

    deinit {
        // What has come since acts now.
        var former = former
        pthread_sigmask(SIG_SETMASK, &former, nil)
    }

    /// Waits for a signal, or for something else besides.
    borrowing func wait(
        for other: pollfd = pollfd(fd: -1, events: 0, revents: 0), until end: ContinuousClock.Instant? = nil
    ) -> Event {
        let number = linux_next_signal(descriptor.number)
        switch number {
        case 0: break
        case SIGCHLD: return .somethingHappened
        case SIGTSTP: return .stop
        default: return .signal(number)
        }
        let left = end.map { max(0, ($0 - .now) / .milliseconds(1)).rounded(.up) }
        if left == 0 { return .timeIsOver }
        var polls = [pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0), other]
        poll(&polls, 2, left.map { Int32(clamping: Int64($0)) } ?? -1)
        return .somethingHappened
    }

    /// Ends this process by a signal; it doesn't return, which the compiler isn't told, as it would miss the `deinit`.
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
