package import Glibc

/// A moment by the system's wall clock, in nanoseconds since 1970-01-01 00:00:00 UTC.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The moment that a file's status names; clamped where it is out of range.
    package init(_ time: timespec) {
        let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        self.nanoseconds = overflow ? (time.tv_sec < 0 ? .min : .max) : product &+ Int64(time.tv_nsec)
    }

    /// Now, by the wall clock, not by its coarse variant.
    ///
    /// The kernel stamps files with the coarse clock, which lags by up to a tick, or, from 6.13 on, with the fine one where
    /// someone has asked for the file's times (https://docs.kernel.org/filesystems/multigrain-ts.html). So what happened to
    /// a file before now never bears a later time; what happens to it within the tick may bear an earlier one, and then
    /// the edit stands.
    package static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(time)
    }

    package static func < (first: Timestamp, second: Timestamp) -> Bool {
        first.nanoseconds < second.nanoseconds
    }
}
