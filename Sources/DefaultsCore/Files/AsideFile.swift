import Glibc
import Linux

/// Copies of files that nobody may lose, put beside the original as `<name>.<reason>-<n>`.
package enum AsideFile {
    /// Why the bytes are kept.
    package enum Reason: String, Sendable {
        /// The file didn't parse when it was about to be replaced.
        case damaged
        /// A foreign writer wrote it just when the file was replaced, and it can't be merged: it doesn't parse, or a crash
        /// came before that.
        case displaced
        /// It has keys that differ only in Unicode normalization, and the version that replaces it has one of them.
        case equivalentKeys = "equivalent-keys"
        /// It has comments, and is written whole.
        case comments
        /// It was being written in place when the writing broke off, and may be the only whole version.
        case unpublished
    }

    /// Writes bytes to the first free name, durably, readable by the user alone: beside the file that a link leads to.
    ///
    /// A copy that has them already is not made again.
    ///
    /// - Returns: the path.
    package static func keep(
        _ bytes: [UInt8], of path: String, because reason: Reason
    ) throws(SystemCall.Failure) -> String {
        try withFreeName(of: try DomainFile.resolvingLinks(path), because: reason) { copy throws(SystemCall.Failure) in
            if holds(copy, bytes) { return }
            let file = try FileDescriptor(opening: copy, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            do throws(SystemCall.Failure) {
                try file.write(bytes)
                try file.synchronize()
                try FileDescriptor.synchronizeDirectory(of: copy)
            } catch {
                // Half a copy is none, and on a full disk each attempt would leave one more.
                unlink(copy)
                throw error
            }
        }
    }

    /// Gives the first free name to a file that is too large to be copied, in the directory where it is.
    ///
    /// - Returns: the path.
    package static func move(
        _ source: String, of path: String, because reason: Reason
    ) throws(SystemCall.Failure) -> String {
        let name = Path.lastName(of: try DomainFile.resolvingLinks(path))
        let beside = "\(Path.directory(of: source))/\(name)"
        return try withFreeName(of: beside, because: reason) { copy throws(SystemCall.Failure) in
            // Not a rename without replacing, which not every file system has; a link refuses an existing name as well.
            try SystemCall.run { link(source, copy) }
            unlink(source)
            try FileDescriptor.synchronizeDirectory(of: copy)
        }
    }

    private static func holds(_ copy: String, _ bytes: [UInt8]) -> Bool {
        guard let file = try? FileDescriptor(opening: copy, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
            let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG, Int(status.st_size) == bytes.count
        else { return false }
        return (try? file.read(upTo: bytes.count)) == bytes
    }

    private static func withFreeName(
        of path: String, because reason: Reason, _ take: (String) throws(SystemCall.Failure) -> Void
    ) throws(SystemCall.Failure) -> String {
        var number = 1
        while true {
            let suffix = ".\(reason.rawValue)-\(number)"
            let copy = "\(Path.directory(of: path))/\(fitting(Path.lastName(of: path), before: suffix))\(suffix)"
            do throws(SystemCall.Failure) {
                try take(copy)
                return copy
            } catch {
                guard error.number == EEXIST else { throw error }
                number += 1
            }
        }
    }

    /// As much of a name as leaves room for a suffix, where a name has at most 255 bytes.
    private static func fitting(_ name: String, before suffix: String) -> String {
        var scalars = name.unicodeScalars[...]
        while String(scalars).utf8.count + suffix.utf8.count > Int(NAME_MAX) { scalars.removeLast() }
        return String(scalars)
    }
}
