import CLinux
import Glibc
import Linux

/// The evidence of whether a version of a domain's file has been read: the file's access time.
///
/// A program can't have loaded a version that was never read, unless it wrote that version itself.
///
/// A store seals each version that it saves, and the first read of the version breaks the seal. So if the seal is
/// intact when a foreign writer writes the file, the writer had loaded an older version. The seal is an access time of
/// a second before the file's creation. On file systems that record reads, which is the default on Linux (`relatime`,
/// mount(8)), the first read moves it. Stores read with `O_NOATIME`, which leaves it alone. Each save tests whether a
/// read moves it; if it doesn't, the version isn't sealed.
///
/// A foreign writer's version isn't sealed, and its writer knows it without reading it. But a read that has moved the
/// access time past the file's last change shows that another program may know it, too.
///
/// This object holds the file open as long as it exists, even once another file has replaced it. So it is only made for
/// files on the mount of the preferences directory, which the agent uses anyway.
package final class Seal: Sendable {
    /// The maximum number of seals in a process, since each of them holds a descriptor open.
    private static let capacity: Int = {
        var limits = rlimit()
        let limit = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 ? limits.rlim_cur : 1_024
        return Int(min(limit / 8, 1_024))
    }()
    private static let count = ForkSafeMutex(0)

    private let file: FileDescriptor
    /// The file when it held the version.
    private let identity: FileIdentity
    /// Whether the version was sealed then.
    private let isSealed: Bool

    /// Refers to the file at a path; fails if reads of it leave no trace, or if there are too many of these objects.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - directory: The preferences directory.
    ///   - identity: The identity of the file that should be there; `nil` for any that is sealed.
    init?(ofFileAt path: String, in directory: String, _ identity: FileIdentity? = nil) {
        let isAvailable = Self.count.withLock { count in
            count += 1
            return count <= Self.capacity
        }
        guard isAvailable else {
            Self.count.withLock { $0 -= 1 }
            return nil
        }
        file = FileDescriptor(owning: linux_open_status(path))
        isSealed = Self.isIntact(on: file)
        let status = try? file.status()
        self.identity = FileIdentity(status ?? FileStatus())
        // Unless the file is this user's, or the user is root, the store's own reads move the access time, too.
        guard let status, linux_shares_mount(file.number, directory) == 1,
            identity.map({ $0 == self.identity }) ?? isSealed, isSealed || status.isOwn || geteuid() == 0
        else { return nil }
    }

    deinit { Self.count.withLock { $0 -= 1 } }

    /// Seals an open file that a store has just written.
    static func set(on file: borrowing FileDescriptor) { _ = linux_seal(file.number) }

    /// Whether no program but its writer has read the version; `nil` if that isn't known.
    ///
    /// Once another program has written into the file, a read may have been one of that program's version.
    package var isUnread: Bool? {
        if isSealed, let isUnread = Self.isUnread(file) { return isUnread }
        guard let status = try? file.status() else { return nil }
        let (read, written) = (Timestamp(status.st_atim), Timestamp(status.st_mtim))
        let isRead = isSealed && !Self.isIntact(on: file) || read > identity.changed
        return isRead && written == identity.modified ? false : nil
    }

    /// Returns true if no program has read the version that a store saved to a file, even if the file was written
    /// since; `nil` if that isn't known.
    static func isUnread(_ file: borrowing FileDescriptor) -> Bool? {
        isIntact(on: file) && !MountTable.mayReadUnrecorded(file) ? true : nil
    }

    private static func isIntact(on file: borrowing FileDescriptor) -> Bool { linux_is_sealed(file.number) == 1 }
}
