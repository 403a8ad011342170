import Glibc

/// The lock that a process holds while it saves into a preferences directory: `flock` on a file in it.
///
/// It keeps our own processes (agent, embedded stores) from saving at once, also from other containers and by other paths
/// to the directory, and on NFS from other hosts. It doesn't keep foreign writers out: they don't ask for it. The file is
/// there only as long as the lock is held (see `LockFile`). Where no file can be made, in a directory that can only be read
/// or on a full disk, it is the directory itself that is locked.
package struct DirectoryLock: ~Copyable {
    /// The file's name.
    package static let fileName = ".defaultsd.lock"

    private let locked: Locked

    private enum Locked: ~Copyable {
        case file(LockFile)
        /// The directory itself.
        case directory(FileDescriptor)
    }

    /// Waits for the lock.
    ///
    /// - Throws: `locked` when it isn't free within `timeout` milliseconds, `directory` when the file can't be made.
    package init(_ directory: PreferencesDirectory, timeout milliseconds: Int = 10_000) throws(DefaultsError) {
        let path = "\(directory.path)/\(Self.fileName)"
        do throws(SystemCall.Failure) {
            locked = try Self.lock(path, in: directory.path, timeout: milliseconds)
        } catch {
            if error.number == EWOULDBLOCK { throw Self.occupied(path, in: directory) }
            let what =
                error.number == ENOENT || error.number == ENOTDIR
                ? "The directory \(directory.path) can't be opened"
                : "The lock file \(path) can't be opened or locked (remove it if it is a link or belongs to another user)"
            throw DefaultsError(.directory, errno: error.number, what)
        }
    }

    /// The error of a lock that another process has.
    private static func occupied(_ path: String, in directory: PreferencesDirectory) -> DefaultsError {
        guard let owner = LockFile.foreignOwner(of: path), owner != 0 else {
            return DefaultsError(
                .locked, "Another process is saving in \(directory.path). To find it, run `lsof \(path)`.",
                errno: EWOULDBLOCK)
        }
        return DefaultsError(
            .locked,
            "The lock file \(path) belongs to the user with the number \(owner), so nothing is saved in \(directory.path). "
                + "Remove the file unless that user is saving there.", errno: EWOULDBLOCK)
    }

    /// A blocking `flock` could wait for ever behind a stopped process, so it is retried with growing random delays, which keep
    /// waiting processes apart.
    private static func lock(
        _ path: String, in directory: String, timeout: Int
    ) throws(SystemCall.Failure) -> Locked {
        var waited = 0
        var pause: Int32 = 1
        while true {
            do throws(SystemCall.Failure) {
                if let file = try LockFile.attempt(at: path) { return .file(file) }
            } catch {
                guard ![ENOENT, ENOTDIR, ELOOP, EEXIST].contains(error.number),
                    let file = try? FileDescriptor(opening: directory, O_RDONLY | O_DIRECTORY)
                else { throw error }
                if flock(file.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return .directory(file) }
            }
            guard waited < timeout else { throw SystemCall.Failure(number: EWOULDBLOCK) }
            let wait = Int32.random(in: 1...pause)
            poll(nil, 0, wait)
            waited += Int(wait)
            pause = min(pause * 2, 20)
        }
    }
}
