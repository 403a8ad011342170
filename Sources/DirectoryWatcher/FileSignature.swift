internal import Glibc

/// What tells one state of a file from another: what `lstat` and `stat` say of its name.
///
/// A file that was changed within 20 ms of the look may be changed once more without showing it (the kernel's clock for
/// times ticks every 4 to 10 ms): it may differ from whatever is seen next.
struct FileSignature: Equatable {
    struct Stamp: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var modified: Duration
        var changed: Duration

        init(_ information: stat) {
            device = UInt64(information.st_dev)
            inode = UInt64(information.st_ino)
            size = Int64(information.st_size)
            modified = Duration(information.st_mtim)
            changed = Duration(information.st_ctim)
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
        let age = Duration(now) - (target?.changed ?? entry.changed)
        isFresh = (.milliseconds(-20) ... .milliseconds(20)).contains(age)
    }

    /// Whether the file was changed since an older look, or may have been.
    func mayDiffer(from before: FileSignature) -> Bool {
        before.isFresh || before.entry != entry || before.target != target
    }
}

extension Duration {
    fileprivate init(_ time: timespec) {
        self = .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
