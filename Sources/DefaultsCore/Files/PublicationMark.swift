import CLinux

/// What tells a file that a store has published from one that a foreign writer wrote: an extended attribute with the hash of
/// its content, and the time of the newest edit that is in it.
///
/// A store merges with what was in the file, under the directory's lock. So another that reads what it published need not
/// guess which version its writer had loaded: what is gone was removed. Nor does it take the file for younger than what is
/// in it: an edit that another store has taken while this one was being written is later, though the file's own times say
/// otherwise. The attribute of a file that was changed since doesn't fit its content, and a copy of a file that bears it was
/// published as well. Where the file system has no attributes, the guess and the file's times remain.
package struct PublicationMark: Hashable, Sendable {
    private static let name = "user.defaultsd.published"

    /// The content's.
    package var hash: ContentHash
    /// When the newest edit was made that is in it; `nil` where it isn't known.
    package var newest: Timestamp?

    package init(hash: ContentHash, newest: Timestamp?) {
        self.hash = hash
        self.newest = newest
    }

    /// Reads the mark of a file with a certain content; `nil` when no store wrote that content.
    init?(of hash: ContentHash, on file: borrowing FileDescriptor) {
        var text = [UInt8](repeating: 0, count: 64)
        let count = linux_attribute(file.number, Self.name, &text, text.count)
        guard count > 0 else { return nil }
        let words = text[..<count].split(separator: UInt8(ascii: " "))
        // Anyone who may write the file may have set it, to anything.
        guard words.first?.elementsEqual(hash.description.utf8) == true else { return nil }
        let newest = words.dropFirst().first.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
        self.init(hash: hash, newest: newest.map(Timestamp.init(nanoseconds:)))
    }

    /// Marks a file as one that a store wrote.
    func set(on file: borrowing FileDescriptor) {
        let text = Array((hash.description + (newest.map { " \($0.nanoseconds)" } ?? "")).utf8)
        // Without it the file is as good as one of a foreign writer.
        _ = linux_set_attribute(file.number, Self.name, text, text.count)
    }
}
