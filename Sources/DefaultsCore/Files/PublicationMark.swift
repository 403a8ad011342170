import CLinux
import Glibc

/// An extended attribute that tells a file which a store has saved from one that a foreign writer wrote: the hash of its
/// content, the time of the newest edit in it, and the file that it was set on.
///
/// A store merges with what was in the file, under the directory's lock. So another that reads what it saved need not
/// guess which version its writer had loaded: a key that is gone was removed. Nor does it take the file for younger than its
/// content: an edit that another store has taken while this one was being written is later, though the file's own times say
/// otherwise.
///
/// The mark is void where the content has changed since, and on a copy of the file: whoever puts back a backup means it,
/// now, and `cp -a` brings the attribute along. Where the file system has no attributes, the guess and the file's times
/// remain.
package struct PublicationMark: Hashable, Sendable {
    private static let name = "user.defaultsd.published"

    /// The content's hash.
    package var hash: ContentHash
    /// When the newest edit in it was made; `nil` where it isn't known.
    package var newest: Timestamp?

    package init(hash: ContentHash, newest: Timestamp?) {
        self.hash = hash
        self.newest = newest
    }

    /// Reads the mark of a file with a certain content; `nil` when no store wrote that content, or wrote it to another file.
    init?(of hash: ContentHash, on file: borrowing FileDescriptor) {
        var text = [UInt8](repeating: 0, count: 96)
        let count = linux_attribute(file.number, Self.name, &text, text.count)
        guard count > 0 else { return nil }
        // Anyone who may write the file may have set it, to anything.
        let words = text[..<count].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, words[0] == hash.description, Array(words[2...]) == Self.identity(of: file) else {
            return nil
        }
        self.init(hash: hash, newest: Int64(words[1]).map(Timestamp.init(nanoseconds:)))
    }

    /// Marks a file as one that a store wrote.
    func set(on file: borrowing FileDescriptor) {
        guard let identity = Self.identity(of: file) else { return }
        let words = [hash.description, newest.map { "\($0.nanoseconds)" } ?? "-"] + identity
        let text = Array(words.joined(separator: " ").utf8)
        // Without it the file is as good as one of a foreign writer.
        _ = linux_set_attribute(file.number, Self.name, text, text.count)
    }

    /// The inode's number, and when it was made: a file system gives the number of a deleted file to the next one.
    private static func identity(of file: borrowing FileDescriptor) -> [String]? {
        guard let status = try? file.status() else { return nil }
        return ["\(status.st_ino)", "\(linux_birth_time(file.number))"]
    }
}
