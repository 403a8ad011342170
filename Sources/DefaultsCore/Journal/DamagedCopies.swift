import Glibc
import Linux

/// The copies of damaged files of the history, beside each file as `<name>.damaged-<n>`.
///
/// They are only for examination, so the oldest may be removed. The intact records of a damaged log are appended to the
/// archive before the log is moved aside (`LogLocation.recover`), and those of an archive are in its new version
/// (`HistoryArchive`). A file put in place of a log is replaced by all that the agent knows (`Store`). If the archive
/// can't be written, the log becomes `<name>.unarchived-<n>`, and a later agent tries again.
package enum DamagedCopies {
    private static let suffix = ".damaged-"
    private static let unarchivedSuffix = ".unarchived-"
    /// The maximum number of copies of a file; older ones are removed, so that repeated damage doesn't fill the disk.
    private static let limit = 3

    /// Returns the paths of the copies, oldest first, and then those of logs whose records aren't in the archive.
    package static func paths(of path: String) -> [String] { paths(path + suffix) + unarchivedPaths(of: path) }

    /// Returns the paths of the logs whose records aren't in the archive, oldest first.
    package static func unarchivedPaths(of path: String) -> [String] { paths(path + unarchivedSuffix) }

    /// Returns the path of the next copy, or log whose records aren't in the archive, after making room for it.
    static func nextPath(of path: String, isArchived: Bool = true) -> String {
        let prefix = path + (isArchived ? suffix : unarchivedSuffix)
        let known = paths(prefix)
        for copy in known.dropLast(limit - 1) { unlink(copy) }
        guard let last = known.last.flatMap({ Int(Substring($0.utf8.dropFirst(prefix.utf8.count))) }) else {
            // If the directory couldn't be listed, there may be copies nevertheless.
            return Path.unused(prefix)
        }
        return "\(prefix)\(last + 1)"
    }

    /// Removes all copies.
    static func remove(of path: String) {
        for copy in paths(of: path) { unlink(copy) }
    }

    private static func paths(_ prefix: String) -> [String] {
        Path.numbered(prefix).sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    }
}
