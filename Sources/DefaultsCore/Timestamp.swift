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

    /// Now, by the clock from which the kernel takes the times of files.
    ///
    /// A file's change time comes from the coarse clock, which lags the fine one by up to a tick. Edits take their time
    /// from it too, so that an edit and a file's change compare rightly; within one tick they are equal, and the edit
    /// stands.
    package static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Timestamp(time)
    }

    package static func < (first: Timestamp, second: Timestamp) -> Bool {
        first.nanoseconds < second.nanoseconds
    }
}
