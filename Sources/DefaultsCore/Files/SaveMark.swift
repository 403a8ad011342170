import CLinux
import Glibc
import Linux

/// An extended attribute that distinguishes a file saved by a store from a file written by a foreign writer.
///
/// It holds the hash of the file's content, the times of the newest edits in it, the identity of the file that it was
/// set on, and the last edits of the sessions that have saved the file.
///
/// A store merges the file's contents under the directory's lock before it saves. So another store that reads the
/// result need not guess which version the writer had loaded: a missing key was removed. Nor does the other store treat
/// the file as newer than its content. An edit accepted while the file was being written counts as later, although the
/// file's own times say otherwise.
///
/// The mark is void if the content has changed since, and on a copy of the file: `cp -a` copies the attribute, but
/// restoring a backup is a new, deliberate change. On a file system without extended attributes, other stores must
/// guess and rely on the file's times.
package struct SaveMark: Hashable, Sendable {
    /// The attribute's name.
    static let name = "user.defaultsd.published"

    /// The hash of the content.
    package var hash: ContentHash
    /// The times of the edits in the content; `nil` if unknown.
    package var times: KeyTimes?
    /// The last edits of processes that have saved this file, or one before it, without an agent.
    ///
    /// Each stands for all earlier edits of its session: the file has them, or what has replaced them.
    package var sessions: [EditIdentity] = []

    /// The maximum number of sessions: a process has two, and the attribute must not grow without limit.
    private static let capacity = 12

    package init(hash: ContentHash, times: KeyTimes?, sessions: [EditIdentity] = []) {
        self.hash = hash
        self.times = times
        self.sessions = Array(sessions.prefix(Self.capacity))
    }

    /// Reads the mark of a file with a given content; fails if no store wrote that content to this file.
    init?(of hash: ContentHash, on file: borrowing FileDescriptor) {
        guard let words = Self.words(on: file), words[0] == hash.description else { return nil }
        let newest = Int64(words[1]).map(Timestamp.init(nanoseconds:))
        self.init(
            hash: hash, times: newest.map { KeyTimes(newest: $0, words: words[4...]) },
            sessions: words[4...].compactMap(EditIdentity.init(word:)))
    }

    /// Returns whether a store has saved this file, whatever has been written into it since.
    static func isSet(on file: borrowing FileDescriptor) -> Bool { words(on: file) != nil }

    /// Returns the words of a file's mark; `nil` if it has none of its own.
    private static func words(on file: borrowing FileDescriptor) -> [String]? {
        var text = [UInt8](repeating: 0, count: 2_048)
        let count = linux_attribute(file.number, name, &text, text.count)
        guard count > 0 else { return nil }
        // Any program that may write the file may have set the attribute to anything.
        let words = text[..<count].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        return words.count >= 4 && Array(words[2...3]) == identity(of: file) ? words : nil
    }

    /// Sets the mark on a file that a store has written.
    func set(on file: borrowing FileDescriptor) {
        guard let identity = Self.identity(of: file) else { return }
        let newest = times.map { "\($0.newest.nanoseconds)" } ?? "-"
        let words = [hash.description, newest] + identity + (times?.words ?? []) + sessions.map(\.word)
        let text = Array(words.joined(separator: " ").utf8)
        // Without the mark, the file counts as a foreign writer's.
        _ = linux_set_attribute(file.number, Self.name, text, text.count)
    }

    /// Returns the inode's number and creation time, since a file system may reuse the number of a deleted file.
    private static func identity(of file: borrowing FileDescriptor) -> [String]? {
        guard let status = try? file.status() else { return nil }
        return ["\(status.st_ino)", "\(linux_birth_time(file.number))"]
    }
}

extension EditIdentity {
    /// The word of a mark; its first letter isn't a hexadecimal digit, so it isn't taken for a key's time.
    fileprivate var word: String { "s\(String(session, radix: 16)):\(number)" }

    fileprivate init?(word: String) {
        let parts = word.dropFirst().split(separator: ":")
        guard word.hasPrefix("s"), parts.count == 2, let session = UInt64(parts[0], radix: 16),
            let number = UInt64(parts[1])
        else { return nil }
        self.init(session: session, number: number)
    }
}
