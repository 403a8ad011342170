import CLinux

/// What tells a file that a store has published from one that a foreign writer wrote: an extended attribute with the hash of
/// its content.
///
/// A store merges with what was in the file, under the directory's lock. So another that reads what it published need not
/// guess which version its writer had loaded: what is gone was removed. The attribute of a file that was changed since
/// doesn't fit its content, and a copy of a file that bears it was published as well. Where the file system has no
/// attributes, the guess remains.
enum PublicationMark {
    private static let name = "user.defaultsd.published"

    /// Marks a file as one that a store wrote.
    static func set(_ hash: ContentHash, on file: borrowing FileDescriptor) {
        let text = Array(hash.description.utf8)
        // Without it the file is as good as one of a foreign writer.
        _ = linux_set_attribute(file.number, name, text, text.count)
    }

    /// Whether a store wrote the content that the file has now.
    static func isSet(_ hash: ContentHash, on file: borrowing FileDescriptor) -> Bool {
        var text = [UInt8](repeating: 0, count: 64)
        let count = linux_attribute(file.number, name, &text, text.count)
        return count > 0 && text[..<count].elementsEqual(hash.description.utf8)
    }
}
