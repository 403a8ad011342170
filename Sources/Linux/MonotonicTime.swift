import Glibc

/// The clock of the processor time that a thread of this process uses.
package struct ThreadClock: Sendable {
    private let clock: clockid_t

    /// The calling thread's clock.
    package static var ofThisThread: ThreadClock? {
        var clock = clockid_t()
        return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? ThreadClock(clock: clock) : nil
    }

    /// The time that the thread has used, in milliseconds; `nil` if it has ended.
    package var milliseconds: Int? {
        var time = timespec()
        return clock_gettime(clock, &time) == 0 ? Int(time.inMilliseconds) : nil
    }
}

extension timespec {
    fileprivate var inMilliseconds: Int64 { Int64(tv_sec) * 1_000 + Int64(tv_nsec) / 1_000_000 }
}

/// A time on the monotonic clock, which can't be set, in milliseconds.
package struct MonotonicTime: Comparable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static let distantFuture = MonotonicTime(milliseconds: .max)

    package static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(milliseconds: time.inMilliseconds)
    }

    package static func + (time: MonotonicTime, milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(milliseconds: time.milliseconds + milliseconds)
    }

    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        time + Int64(duration / .milliseconds(1))
    }

    package static func < (first: MonotonicTime, second: MonotonicTime) -> Bool {
        first.milliseconds < second.milliseconds
    }

    /// The time left until this time, for `poll`; 0 if it has passed.
    package var millisecondsLeft: Int32 { Int32(clamping: max(0, milliseconds - Self.now().milliseconds)) }
}
