import Glibc
package import Linux

/// Backup copies of contents that must not be lost, stored beside the original as `<name>.<reason>-<n>`.
package enum BackupFile {
    /// The reason for a backup copy.
    package enum Reason: String, Sendable {
        /// The file didn't parse when it was about to be replaced.
        case damaged
        /// A foreign writer wrote the file just as it was replaced, and not all of that version could be merged and
        /// saved.
        case displaced
        /// The file has keys that differ only in Unicode normalization, and its replacement has only one of them.
        case equivalentKeys = "equivalent-keys"
        /// The file has comments, and was rewritten without them.
        case comments
        /// Writing the bytes to the file in place was interrupted, so they may be the only complete version.
        case unsaved
    }

    /// Returns the reason that is part of a backup copy's name; `nil` if the name isn't that of a backup copy.
    package static func reason(ofName name: String) -> Reason? {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return nil }
        let suffix = name.utf8[name.utf8.index(after: dot)...]
        guard let dash = suffix.lastIndex(of: UInt8(ascii: "-")),
            UInt64(Substring(suffix[suffix.index(after: dash)...])) != nil
        else { return nil }
        return Reason(rawValue: String(Substring(suffix[..<dash])))
    }

    /// Returns a sentence that reports a copy.
    package static func message(ofCopy path: String) -> String {
        let contents =
            switch reason(ofName: path) {
            case .damaged: "The damaged file"
            case .equivalentKeys: "The file with all its keys"
            case .comments: "The file with its comments"
            case .displaced, .unsaved, nil: "Content that could not be merged"
            }
        return "\(contents) was saved to \(path)."
    }

    /// Writes a durable copy, readable only by the user, under the first free name beside the file.
    ///
    /// If the file is a link, the copy goes beside the link's target. An existing copy of the same bytes is reused.
    ///
    /// - Returns: The copy's path.
    package static func write(
        _ bytes: [UInt8], of path: String, because reason: Reason
    ) throws(SystemCall.Failure) -> String {
        try withFreeName(of: try DomainFile.resolvingLinks(path), because: reason) { copy throws(SystemCall.Failure) in
            if isCopy(copy, of: bytes) { return }
            let file = try NewFile.create(copy, flags: O_WRONLY)
            do throws(SystemCall.Failure) {
                try file.write(bytes)
                try file.synchronize()
                try FileDescriptor.synchronizeDirectory(of: copy)
            } catch {
                // Remove the incomplete copy: on a full disk, each retry would leave another.
                unlink(copy)
                throw error
            }
        }
    }

    /// Renames a file that is too large to copy to the first free name in its own directory.
    ///
    /// - Returns: The new path.
    package static func move(
        _ source: String, of path: String, because reason: Reason
    ) throws(SystemCall.Failure) -> String {
        let name = Path.lastName(of: try DomainFile.resolvingLinks(path))
        let beside = "\(Path.directory(of: source))/\(name)"
        return try withFreeName(of: beside, because: reason) { copy throws(SystemCall.Failure) in
            // Not every file system has RENAME_NOREPLACE, but creating a hard link also fails if the name exists.
            try SystemCall.run { link(source, copy) }
            unlink(source)
            try FileDescriptor.synchronizeDirectory(of: copy)
        }
    }

    private static func isCopy(_ path: String, of bytes: [UInt8]) -> Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
            let status = try? file.status(), status.isRegular, Int(status.st_size) == bytes.count
        else { return false }
        return (try? file.read(upTo: bytes.count)) == bytes
    }

    private static func withFreeName(
        of path: String, because reason: Reason, _ create: (String) throws(SystemCall.Failure) -> Void
    ) throws(SystemCall.Failure) -> String {
        var number = 1
        while true {
            let suffix = ".\(reason.rawValue)-\(number)"
            let copy = "\(Path.directory(of: path))/\(fitting(Path.lastName(of: path), before: suffix))\(suffix)"
            do throws(SystemCall.Failure) {
                try create(copy)
                return copy
            } catch {
                guard error.number == EEXIST else { throw error }
                number += 1
            }
        }
    }

    /// Truncates a name to leave room for a suffix, since a file name has at most 255 bytes.
    private static func fitting(_ name: String, before suffix: String) -> String {
        var scalars = name.unicodeScalars[...]
        while String(scalars).utf8.count + suffix.utf8.count > Int(NAME_MAX) { scalars.removeLast() }
        return String(scalars)
    }
}
