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
