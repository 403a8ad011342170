import Glibc

/// A moment in milliseconds, by a clock that nobody sets.
struct MonotonicTime: Comparable {
    var milliseconds: Int64

    static let distantFuture = MonotonicTime(milliseconds: .max)

    static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    static func + (time: MonotonicTime, milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(milliseconds: time.milliseconds + milliseconds)
    }

    static func < (first: MonotonicTime, second: MonotonicTime) -> Bool { first.milliseconds < second.milliseconds }

    /// How long it is until then, as `poll` takes it: none if it is past.
    var left: Int32 { Int32(clamping: max(0, milliseconds - Self.now().milliseconds)) }
}
