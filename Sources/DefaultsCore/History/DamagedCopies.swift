import Glibc
import Linux

/// The copies of damaged files of the history, beside each file as `<name>.damaged-<n>`.
package enum DamagedCopies {
    private static let suffix = ".damaged-"
    /// The maximum number of copies of a file; older ones are removed, so that repeated damage doesn't fill the disk.
    private static let limit = 3

    /// Returns the paths of the copies, oldest first.
    package static func paths(of path: String) -> [String] {
        Path.numbered(path + suffix).sorted { number(of: $0, path) < number(of: $1, path) }
    }

    /// Returns the path of the next copy, after making room for it.
    static func nextPath(of path: String) -> String {
        let copies = paths(of: path)
        for copy in copies.dropLast(limit - 1) { unlink(copy) }
        return "\(path)\(suffix)\((copies.last.map { number(of: $0, path) } ?? 0) + 1)"
    }

    /// Removes all copies.
    static func remove(of path: String) {
        for copy in paths(of: path) { unlink(copy) }
    }

    private static func number(of copy: String, _ path: String) -> Int {
        Int(Substring(copy.utf8.dropFirst(path.utf8.count + suffix.utf8.count))) ?? 0
    }
}
