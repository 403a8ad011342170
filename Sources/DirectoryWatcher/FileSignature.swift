internal import Glibc
internal import Linux

/// What tells one state of a file from another: what `lstat` and `stat` say of its name.
///
/// A file that was changed within a tick of its file system's clock may be changed once more without showing it: it may
/// differ from whatever is seen next.
struct FileSignature: Equatable {
    struct Stamp: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        /// Nanoseconds since 1970, clamped.
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
    /// What a link leads to; `nil` if it isn't a link, or leads nowhere.
    var target: Stamp?
    /// Whether the file changed so shortly before the look that a later change may look the same.
    var isFresh: Bool

    /// Looks at a name in a directory.
    ///
    /// - Throws: The error number.
    init(_ name: String, in directory: Int32 = AT_FDCWD) throws(ErrorNumber) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var information = stat()
        guard fstatat(directory, name, &information, AT_SYMLINK_NOFOLLOW) == 0 else { throw ErrorNumber(code: errno) }
        entry = Stamp(information)
        isLink = information.st_mode & S_IFMT == S_IFLNK
        if isLink, fstatat(directory, name, &information, 0) == 0 { target = Stamp(information) }
        let stamp = target ?? entry
        isFresh = FileClock.mayRepeat(modified: stamp.modified, changed: stamp.changed, now: nanoseconds(now))
    }

    /// Whether the file was changed since an older look, or may have been.
    func mayDiffer(from before: FileSignature) -> Bool {
        before.isFresh || before.entry != entry || before.target != target
    }
}

private func nanoseconds(_ time: timespec) -> Int64 {
    let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? (time.tv_sec < 0 ? .min : .max) : product &+ Int64(time.tv_nsec)
}
