/// The clocks that file systems stamp files with.
///
/// They tick: the kernel's own every 1 to 10 ms, that of a file system which keeps whole seconds (ext3, ext4 with inodes of
/// 128 bytes, some NFS servers) once a second, FAT's every two. Two changes within one tick bear the same times.
package enum FileClock {
    private static let tick: Int64 = 20_000_000
    private static let second: Int64 = 1_000_000_000

    /// Whether another change of a file could still bear the times that it has.
    ///
    /// Times in whole seconds are taken for coarse ones. A time in the future says nothing, and may be borne again.
    ///
    /// - Parameters:
    ///   - modified: when its content changed, in nanoseconds since 1970.
    ///   - changed: when its status changed.
    ///   - now: the time at the look.
    /// - Returns: whether they may be another change's, too.
    package static func mayRepeat(modified: Int64, changed: Int64, now: Int64) -> Bool {
        let isCoarse = modified % second == 0 && changed % second == 0
        let (age, overflow) = now.subtractingReportingOverflow(max(modified, changed))
        return overflow ? max(modified, changed) > now : age < (isCoarse ? 2 * second + tick : tick)
    }
}
