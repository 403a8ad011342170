/// The clocks that file systems use for their time stamps.
///
/// They advance in ticks: the kernel's own clock every 1 to 10 ms, that of a file system with whole-second times (ext3,
/// ext4 with 128-byte inodes, some NFS servers) every second, and FAT's every two seconds. Two changes within one tick
/// get the same time stamps.
package enum FileClock {
    private static let tick: Int64 = 20_000_000
    private static let second: Int64 = 1_000_000_000

    /// Returns whether another change to a file could still get the same time stamps.
    ///
    /// Whole-second times are assumed to come from a coarse clock. A time in the future proves nothing, so it is
    /// assumed to repeat.
    ///
    /// - Parameters:
    ///   - modified: The time at which the contents changed, in nanoseconds since 1970.
    ///   - changed: The time at which the status changed.
    ///   - now: The current time.
    /// - Returns: Whether a later change may have the same time stamps.
    package static func mayRepeat(modified: Int64, changed: Int64, now: Int64) -> Bool {
        let isCoarse = modified % second == 0 && changed % second == 0
        let (age, overflow) = now.subtractingReportingOverflow(max(modified, changed))
        return overflow ? max(modified, changed) > now : age < (isCoarse ? 2 * second + tick : tick)
    }
}
