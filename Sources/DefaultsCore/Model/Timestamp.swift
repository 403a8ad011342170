package import Glibc

/// A wall-clock time, in nanoseconds since 1970-01-01 00:00:00 UTC.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Creates a timestamp from a time in a file's status, clamped if out of range.
    package init(_ time: timespec) {
        let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        self.nanoseconds = overflow ? (time.tv_sec < 0 ? .min : .max) : product &+ Int64(time.tv_nsec)
    }

    /// Returns the current time from the precise wall clock, not its coarse variant.
    ///
    /// The kernel stamps files with the coarse clock, which lags by up to a tick. Since version 6.13, it uses the
    /// precise clock for a file whose times have been queried (https://docs.kernel.org/filesystems/multigrain-ts.html).
    /// So a file change before this call never has a later time than the result. A change after the call, but within
    /// the same tick, may have an earlier time; an edit made at this time then wins over it.
    package static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(time)
    }

    /// The time just before this one.
    var predecessor: Timestamp { Timestamp(nanoseconds: max(nanoseconds, .min + 1) - 1) }

    /// Returns the time since another, limited to what fits, since clocks can be set to anything.
    func nanoseconds(since other: Timestamp) -> Int64 {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return overflow ? (self < other ? .min : .max) : difference
    }

    package static func < (first: Timestamp, second: Timestamp) -> Bool {
        first.nanoseconds < second.nanoseconds
    }
}
