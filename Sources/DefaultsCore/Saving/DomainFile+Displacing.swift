import CLinux
import Glibc
import Linux

extension DomainFile {
    /// Returns whether a save that an agent announced has been made, judging by the files that it has left.
    ///
    /// A save moves the file that it replaces to a hidden name. If that file is there, the save has been made. If
    /// another program replaced the file at the last moment, the hidden file is that program's. Before the save, the
    /// hidden file is the new version, perhaps incomplete, or there is none.
    ///
    /// - Parameters:
    ///   - stamp: The file that was to be replaced.
    ///   - expected: The hash of its contents.
    ///   - new: The hash of the new version; `nil` if the file was to be removed.
    /// - Returns: The answer; `nil` if there is no evidence, or it can't be read.
    func hasReplaced(_ stamp: FileStamp, hashed expected: ContentHash?, by new: ContentHash?) -> Bool? {
        guard let target = try? Self.resolvingLinks(path) else { return nil }
        if let status = try? FileStatus(at: target), UInt64(status.st_ino) == stamp.inode { return false }
        let directory = PreferencesDirectory(path: Path.directory(of: target))
        let name = TemporaryName.hash(ofNameAt: path)
        guard let names = try? directory.names(in: "") else { return nil }
        var answer: Bool?
        for text in names {
            // In an exchange of several steps, the replaced file has a name without the new version's hash for a
            // moment.
            guard let temporary = TemporaryName(name: text), temporary.isAnnounced, temporary.target == name,
                temporary.new == new || temporary.new == nil
            else { continue }
            let path = "\(directory.path)/\(text)"
            guard let file = try? FileDescriptor(openingUnseen: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
                let status = try? file.status(), status.isRegular
            else { continue }
            if UInt64(status.st_ino) == stamp.inode { return true }
            if temporary.new == nil || temporary.expected != expected { continue }
            if isForeign(file, at: path, named: temporary) { return true }
            answer = false
        }
        return answer
    }

    /// Returns whether a foreign writer wrote a hidden file, which isn't the new version, nor the one that was
    /// expected.
    private func isForeign(_ file: borrowing FileDescriptor, at path: String, named temporary: TemporaryName) -> Bool {
        // On a file system without attributes, an incomplete version is recognized because it can't be parsed.
        if temporary.new.flatMap({ SaveMark(of: $0, on: file) }) != nil { return false }
        guard case .contents(let contents) = DomainFile(path: path, limits: limits).read(known: nil) else {
            return false
        }
        return contents.version.hash != temporary.new && contents.version.hash != temporary.expected
    }
}
