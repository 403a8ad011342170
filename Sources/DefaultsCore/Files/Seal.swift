import CLinux
import Glibc
import Linux

/// A seal on a version that a store saved, which the first read of the version breaks.
///
/// A program can't have loaded a version that nobody has read. So if a seal is intact when a foreign writer writes the
/// file, the writer had loaded an older version.
///
/// The seal is an access time of a second before the file's creation. On file systems that record reads, which is the
/// default on Linux (`relatime`, mount(8)), the first read moves it. Stores read with `O_NOATIME`, which leaves it
/// alone. Each save tests whether a read moves it; if it doesn't, the version has no seal.
///
/// This object refers to the file as long as it exists, even once another file has replaced it.
package final class Seal: Sendable {
    /// The maximum number of seals in a process, since each of them holds a descriptor open.
    private static let capacity: Int = {
        var limits = rlimit()
        let limit = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 ? limits.rlim_cur : 1_024
        return Int(min(limit / 8, 1_024))
    }()
    private static let count = ForkSafeMutex(0)

    private let file: FileDescriptor
    /// The time when the store wrote the version.
    private let written: Timestamp

    /// Refers to the seal of the file at a path; fails if it is broken, or if there are too many.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - identity: The identity of the file that should be there; `nil` for any.
    init?(ofFileAt path: String, _ identity: FileIdentity? = nil) {
        let isAvailable = Self.count.withLock { count in
            count += 1
            return count <= Self.capacity
        }
        guard isAvailable else {
            Self.count.withLock { $0 -= 1 }
            return nil
        }
        let number = linux_open_status(path)
        file = FileDescriptor(owning: number)
        let found = (try? file.status()).map(FileIdentity.init)
        written = found?.modified ?? Timestamp(nanoseconds: .min)
        guard let found, identity == nil || found == identity, Self.isIntact(on: file) else { return nil }
    }

    deinit { Self.count.withLock { $0 -= 1 } }

    /// Seals an open file that a store has just written.
    static func set(on file: borrowing FileDescriptor) { _ = linux_seal(file.number) }

    /// Whether nobody has read the version; `nil` if that isn't known anymore.
    package var isUnread: Bool? { Self.isUnread(file, written: written) }

    /// Returns whether nobody has read a version that a store saved; `nil` if that isn't known.
    ///
    /// Once another program has written into the file, a read may have been one of that program's version.
    ///
    /// - Parameters:
    ///   - file: The file that the store wrote, whatever has been written into it since.
    ///   - written: The time when the store wrote it; `nil` if it has certainly been written since.
    /// - Returns: Whether nobody has.
    static func isUnread(_ file: borrowing FileDescriptor, written: Timestamp?) -> Bool? {
        if isIntact(on: file) { return true }
        guard let written, let status = try? file.status() else { return nil }
        return Timestamp(status.st_mtim) == written ? false : nil
    }

    private static func isIntact(on file: borrowing FileDescriptor) -> Bool { linux_is_sealed(file.number) == 1 }
}
