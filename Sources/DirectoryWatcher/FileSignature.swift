internal import Glibc
internal import Linux

/// The results of `lstat` and `stat` for a name, which distinguish one state of a file from another.
///
/// A file that changed within the last tick of its file system's clock may change again with the same time stamps. So a
/// fresh signature never proves that a file is unchanged.
struct FileSignature: Equatable {
    struct Stamp: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        /// The modification time in nanoseconds since 1970, clamped.
        var modified: Int64
        var changed: Int64

        init(_ information: stat) {
            device = UInt64(information.st_dev)
            inode = UInt64(information.st_ino)
            size = Int64(information.st_size)
            modified = nanoseconds(information.st_mtim)
            changed = nanoseconds(information.st_ctim)
        }
    }

    var entry: Stamp
    var isLink: Bool
    /// The target of a link; `nil` if the name isn't a link or the link is dangling.
    var target: Stamp?
    /// Whether the file changed so recently that another change may leave the same signature.
    var isFresh: Bool

    /// Examines a name in a directory.
    ///
    /// - Throws: The error number.
    init(_ name: String, in directory: Int32 = AT_FDCWD) throws(SystemCall.Failure) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var information = stat()
        guard fstatat(directory, name, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw SystemCall.Failure(number: errno)
        }
        entry = Stamp(information)
        isLink = information.isLink
        if isLink, fstatat(directory, name, &information, 0) == 0 { target = Stamp(information) }
        let stamp = target ?? entry
        isFresh = FileClock.mayRepeat(modified: stamp.modified, changed: stamp.changed, now: nanoseconds(now))
    }

    /// Returns whether the file may have changed since an older signature.
    func mayDiffer(from before: FileSignature) -> Bool {
        before.isFresh || before.entry != entry || before.target != target
    }
}

private func nanoseconds(_ time: timespec) -> Int64 {
    let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? (time.tv_sec < 0 ? .min : .max) : product &+ Int64(time.tv_nsec)
}
