import Glibc
import Linux

/// The lock that a process holds while it saves to a preferences directory: `flock` on a file in the directory.
///
/// It prevents our own processes (the agent and embedded stores) from saving at the same time, even if they run in
/// other containers, use other paths to the directory, or, on NFS, run on other hosts. It doesn't exclude foreign
/// writers, which don't use it. The file exists only while the lock is held, or for a second longer if its holder is
/// likely to need it again (see `LockFile`). If no file can be created, because the directory is read-only or the disk
/// is full, the directory itself is locked.
package struct DirectoryLock: ~Copyable {
    /// The name of the lock file.
    package static let fileName = ".defaultsd.lock"

    private let locked: Locked

    private enum Locked: ~Copyable {
        case file(LockFile)
        /// The directory itself.
        case directory(FileDescriptor)
    }

    /// Waits for the lock and acquires it.
    ///
    /// - Throws: `locked` if the lock isn't free within `timeout` milliseconds; `directory` if it can't be acquired for
    ///   another reason.
    package init(_ directory: PreferencesDirectory, timeout milliseconds: Int = 10_000) throws(DefaultsError) {
        let path = "\(directory.path)/\(Self.fileName)"
        do throws(SystemCall.Failure) {
            locked = try Self.lock(path, in: directory.path, timeout: milliseconds)
        } catch {
            if error.number == EWOULDBLOCK { throw Self.occupied(path, in: directory) }
            let isInaccessible = error.number == EACCES && access(directory.path, W_OK | X_OK) != 0
            let what =
                error.number == ENOENT || error.number == ENOTDIR
                ? "The directory \(directory.path) can't be opened"
                : isInaccessible
                    ? "You can't write to the directory \(directory.path)"
                    : "The lock file \(path) can't be opened or locked "
                        + "(remove it if it is a link or belongs to another user)"
            throw DefaultsError(.directory, errno: error.number, what)
        }
    }

    /// Lets other processes have the lock, but keeps its file.
    ///
    /// Creating and removing a file takes as long as the rest of a save, if files are often created and removed in the
    /// directory. For some seconds, ext4 doesn't use the inodes again, and looks at each of them first.
    ///
    /// - Returns: Whether there is a file, so that the lock may be acquired with `lockAgain`.
    package func unlock() -> Bool {
        switch locked {
        case .file(let file):
            file.unlock()
            return true
        case .directory: return false
        }
    }

    /// Acquires the lock again after `unlock`, if that is possible without waiting.
    package func lockAgain() -> Bool {
        switch locked {
        case .file(let file): file.lockAgain()
        case .directory: false
        }
    }

    /// Returns the error for a lock that another process holds.
    private static func occupied(_ path: String, in directory: PreferencesDirectory) -> DefaultsError {
        guard let owner = LockFile.foreignOwner(of: path) else {
            return DefaultsError(
                .locked,
                "Another process is saving in \(directory.path).",
                remedy: "To find it, run `lsof \(path)`.",
                errno: EWOULDBLOCK)
        }
        return DefaultsError(
            .locked,
            "The lock file \(path) belongs to user ID \(owner), so nothing is saved in \(directory.path).",
            remedy: "Remove the file unless that user is saving there.",
            errno: EWOULDBLOCK)
    }

    /// Tries to acquire the lock until the timeout.
    ///
    /// A blocking `flock` could wait forever for a stopped process. So the attempt is repeated with growing random
    /// delays, which keep waiting processes from colliding.
    private static func lock(
        _ path: String, in directory: String, timeout: Int
    ) throws(SystemCall.Failure) -> Locked {
        var backoff = Backoff(
            from: .milliseconds(1), to: .milliseconds(20), timeout: .milliseconds(timeout), isRandom: true)
        while true {
            do throws(SystemCall.Failure) {
                if let file = try LockFile.attempt(at: path) { return .file(file) }
            } catch {
                guard ![ENOENT, ENOTDIR, ELOOP, EEXIST].contains(error.number),
                    let file = try? FileDescriptor(opening: directory, O_RDONLY | O_DIRECTORY)
                else { throw error }
                if flock(file.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return .directory(file) }
            }
            guard backoff.wait() else { throw SystemCall.Failure(number: EWOULDBLOCK) }
        }
    }
}
