package import Glibc

/// A time by the system's wall clock, in nanoseconds since 1970-01-01 00:00:00 UTC.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Creates the time in a file's status; clamped if it is out of range.
    package init(_ time: timespec) {
        let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        self.nanoseconds = overflow ? (time.tv_sec < 0 ? .min : .max) : product &+ Int64(time.tv_nsec)
    }

    /// Returns the current time by the precise wall clock, not its coarse variant.
    ///
    /// The kernel stamps files with the coarse clock, which lags by up to a tick. From 6.13 on, it uses the precise
    /// clock for a file whose times have been queried (https://docs.kernel.org/filesystems/multigrain-ts.html). So a
    /// change to a file before now never has a later time than now. A change after now, but within the same tick, may
    /// have an earlier time; an edit made now then stands.
    package static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(time)
    }

    package static func < (first: Timestamp, second: Timestamp) -> Bool {
        first.nanoseconds < second.nanoseconds
    }
}
