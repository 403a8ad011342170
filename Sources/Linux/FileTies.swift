internal import CLinux
internal import Glibc

/// The ways in which a file is tied to another place, from which it can change without an event for its directory.
package struct FileTies: OptionSet, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The file has several hard links.
    package static let hardLinks = FileTies(rawValue: 1)
    /// A file is mounted at the path, as containers do with `-v FILE:FILE` and `subPath`.
    package static let mount = FileTies(rawValue: 2)

    /// Examines a regular file; any other file has no ties.
    ///
    /// - Parameters:
    ///   - path: The file's path. A final link isn't followed. An empty path stands for the open file itself.
    ///   - directory: The open directory that a relative path is relative to, or the open file.
    package init(ofFileAt path: String, in directory: Int32 = AT_FDCWD) {
        self.init(rawValue: linux_file_ties(directory, path))
    }
}
