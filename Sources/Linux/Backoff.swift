import Glibc

/// Growing delays between the attempts of a loop that blocks its thread, with an optional timeout.
package struct Backoff: Sendable {
    private let delay: RetryDelay
    private var failures = 0
    private let isRandom: Bool
    private let start = ContinuousClock.now
    private let timeout: Duration?

    /// Creates a backoff.
    ///
    /// - Parameters:
    ///   - first: The first delay; each one after it is twice as long.
    ///   - maximum: The longest delay.
    ///   - timeout: The time after which no more attempts are made; `nil` for none.
    ///   - isRandom: Whether each delay is a random fraction of its full length, so that processes that failed together
    ///     don't retry together.
    package init(from first: Duration, to maximum: Duration, timeout: Duration?, isRandom: Bool = false) {
        delay = RetryDelay(first: first, limit: maximum)
        self.timeout = timeout
        self.isRandom = isRandom
    }

    /// The time since the first attempt.
    package var elapsed: Duration { ContinuousClock.now - start }

    /// Blocks the calling thread until the next attempt is due.
    ///
    /// - Returns: False, without blocking, after the timeout.
    package mutating func wait() -> Bool {
        if let timeout, elapsed >= timeout { return false }
        let time = delay.after(failures)
        Self.pause(isRandom ? time * Double.random(in: 0...1) : time)
        failures += 1
        return true
    }

    /// Blocks the calling thread for some time.
    package static func pause(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        var rest = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&rest, nil)
    }
}

/// The delays between attempts: each is twice as long as the previous one, up to a limit.
///
/// Pure; the caller counts the failures.
package struct RetryDelay: Sendable {
    private let first: Duration
    private let limit: Duration

    package init(first: Duration, limit: Duration) {
        self.first = first
        self.limit = limit
    }

    /// Returns the delay before the next attempt, given the number of consecutive failures before the latest one.
    package func after(_ failures: Int) -> Duration {
        var delay = first
        for _ in 0..<failures {
            if delay >= limit { break }
            delay *= 2
        }
        return min(delay, limit)
    }
}

extension Duration {
    /// A random duration between a quarter of this one and all of it, so that many don't try again in the same moment.
    package var jittered: Duration { self * Double.random(in: 0.25...1) }
}
