package import Glibc
import Linux

/// What tells one state of a file from another without reading it.
///
/// The inode alone doesn't: ext4 gives a deleted file's number to the next one at once. Nor does the same identity prove
/// the same content while the file is fresh: file times move in ticks (see `isFresh`).
package struct FileIdentity: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    package let modified: Timestamp
    package let changed: Timestamp

    package init(_ status: stat) {
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.modified = Timestamp(status.st_mtim)
        self.changed = Timestamp(status.st_ctim)
    }

    /// Whether the file changed so shortly before `now` that another change could bear the same times.
    ///
    /// Git calls such an index entry "racy".
    package func isFresh(at now: Timestamp) -> Bool {
        FileClock.mayRepeat(modified: modified.nanoseconds, changed: changed.nanoseconds, now: now.nanoseconds)
    }
}
