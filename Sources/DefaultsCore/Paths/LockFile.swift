import Glibc
import Linux

/// A file that this process locks (`flock`), and removes at the end of this value's lifetime.
///
/// A lock file is accessible only to the user, with mode 0600, because any process that can open a file can lock it and
/// keep others out. If other users can open the file, because its mode was changed or it was copied, the mode is set
/// back to 0600. If a process that isn't one of ours has already locked such a file, the file is replaced.
package struct LockFile: ~Copyable, Sendable {
    let file: FileDescriptor
    private let path: String

    /// The maximum number of files that one attempt replaces; other users may create them as fast as they are removed.
    private static let maximumReplacements = 16

    private init(_ file: consuming FileDescriptor, at path: String) {
        self.file = file
        self.path = path
    }

    deinit {
        // While the lock is held, the name can't belong to another holder's file.
        if flock(file.number, LOCK_EX | LOCK_NB) == 0, file.isNamed(path) { unlink(path) }
    }

    /// Lets other processes lock the file.
    func unlock() { flock(file.number, LOCK_UN) }

    /// Locks the file again after `unlock`.
    ///
    /// - Returns: Whether the file is locked; `false` if another process has locked or removed it, or if other users
    ///   can open it.
    func lockAgain() -> Bool {
        guard flock(file.number, LOCK_EX | LOCK_NB) == 0, file.isNamed(path), let status = try? file.status() else {
            return false
        }
        return status.st_nlink == 1 && !status.isOpenToOthers
    }

    /// Tries to lock the file at a path, creating it if it is missing; links are not followed.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - isReserved: Whether the name is used only for lock files, so that another user's file of that name may be
    ///     removed from the user's own directory.
    ///   - isAcceptable: Whether an existing file of the user's may be locked, and later removed.
    ///   - isInUse: Whether a locked file that others can open is held by one of our processes.
    /// - Returns: The lock; `nil` if another process holds it.
    /// - Throws: `EEXIST` or `ELOOP` if the name belongs to something else, or the failure of a system call.
    static func attempt(
        at path: String, isReserved: Bool = true, isAcceptable: (borrowing FileDescriptor) -> Bool = { _ in true },
        isInUse: (borrowing FileDescriptor) -> Bool = { _ in false }
    ) throws(SystemCall.Failure) -> LockFile? {
        var replaced = 0
        while replaced < maximumReplacements {
            let opened: Opened
            do throws(SystemCall.Failure) { opened = try open(path) } catch {
                guard error.number == EACCES, foreignOwner(of: path) != nil else { throw error }
                guard isReserved, removeForeign(path) else { return nil }
                replaced += 1
                continue
            }
            let status = try opened.file.status()
            // Its holder removed the file after it was opened here.
            if status.st_nlink == 0 { continue }
            // A file with a second hard link may belong to another program.
            guard status.isRegular, status.st_nlink == 1 else {
                throw SystemCall.Failure(number: EEXIST)
            }
            guard opened.isNew || isOwn(status, at: path) else {
                guard isReserved else { throw SystemCall.Failure(number: EEXIST) }
                guard removeForeign(path) else { return nil }
                replaced += 1
                continue
            }
            guard isAcceptable(opened.file) else { throw SystemCall.Failure(number: EEXIST) }
            if status.isOpenToOthers { fchmod(opened.file.number, 0o600) }
            guard try opened.file.lock() else {
                guard status.isOpenToOthers, !isInUse(opened.file), opened.file.isNamed(path), unlink(path) == 0 else {
                    return nil
                }
                replaced += 1
                continue
            }
            // The former holder may have removed the file after it was opened here.
            if opened.file.isNamed(path) { return LockFile(opened.release(), at: path) }
        }
        return nil
    }

    /// Whether the path still leads to this file, so that other processes try to lock the same file; also true if that
    /// can't be found out now.
    var isCurrent: Bool { !file.hasLostName(path) }

    /// Restores the file's mode if others can open the file, since they could lock it after this process.
    func restrictMode() {
        if let status = try? file.status(), status.isOpenToOthers { fchmod(file.number, 0o600) }
    }

    /// Returns whether a process holds a lock on the file at a path.
    ///
    /// The test briefly acquires a shared lock, which doesn't conflict with that of another caller.
    static func isLocked(at path: String) -> Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? file.status(), isOwn(status, at: path)
        else { return false }
        return isLocked(file)
    }

    /// Returns whether another process holds a lock on an open file, on which no lock remains.
    static func isLocked(_ file: borrowing FileDescriptor) -> Bool {
        if flock(file.number, LOCK_SH | LOCK_NB) != 0 { return errno == EWOULDBLOCK }
        // Closing the file isn't enough: the lock lasts while a child that another thread has forked has it open, too.
        flock(file.number, LOCK_UN)
        return false
    }

    /// Returns the owner of the file at a path; `nil` if there is no file or it is the user's own.
    static func foreignOwner(of path: String) -> uid_t? {
        guard let status = try? FileStatus(at: path, followsLinks: false), !isOwn(status, at: path) else { return nil }
        return status.st_uid
    }

    // MARK: Opening

    private struct Opened: ~Copyable {
        let file: FileDescriptor
        /// Whether this process created the file.
        let isNew: Bool

        consuming func release() -> FileDescriptor { file }
    }

    /// Opens or creates the file.
    private static func open(_ path: String) throws(SystemCall.Failure) -> Opened {
        while true {
            do throws(SystemCall.Failure) {
                return Opened(file: try NewFile.create(path, flags: O_RDWR), isNew: true)
            } catch {
                if error.number != EEXIST {
                    // An existing file can be locked even where no file can be created. If there is none, throw the
                    // first error.
                    guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
                        throw error
                    }
                    return Opened(file: file, isNew: false)
                }
            }
            do throws(SystemCall.Failure) {
                return Opened(
                    file: try FileDescriptor(opening: path, O_RDWR | O_NOFOLLOW | O_NONBLOCK), isNew: false)
            } catch {
                // Its holder has just removed the file.
                if error.number == ENOENT { continue }
                guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
                    throw error
                }
                // If the user's own file was made read-only, make it writable, so that the next holder can write its
                // name to it.
                if error.number == EACCES, let status = try? file.status(), status.isOwn, status.isRegular,
                    status.st_mode & 0o600 != 0o600,
                    fchmod(file.number, 0o600 | status.st_mode & 0o077) == 0
                {
                    continue
                }
                return Opened(file: file, isNew: false)
            }
        }
    }

    // MARK: Owners

    /// Returns whether a file belongs to the user or, if the user is root, to the directory's owner.
    private static func isOwn(_ status: FileStatus, at path: String) -> Bool {
        status.isOwn || geteuid() == 0 && (try? FileStatus(at: Path.directory(of: path)))?.st_uid == status.st_uid
    }

    /// Removes another user's file from a directory that the user owns.
    ///
    /// Root's new file stays, since root gives each file that it creates to the directory's owner a moment later.
    ///
    /// - Returns: Whether the file is gone.
    private static func removeForeign(_ path: String) -> Bool {
        var file = FileStatus()
        guard lstat(path, &file) == 0 else { return errno == ENOENT }
        // A time ahead of the clock says nothing about the file's age, and would protect the file until then.
        let isNew = (0...1).contains(time(nil) - file.st_ctim.tv_sec)
        guard file.isRegular, file.st_uid != 0 || !isNew, !isOwn(file, at: path),
            (try? FileStatus(at: Path.directory(of: path)))?.isOwn == true
        else { return false }
        return unlink(path) == 0
    }
}

extension FileDescriptor {
    /// Locks the file; returns false if another process has it locked.
    fileprivate func lock() throws(SystemCall.Failure) -> Bool {
        do throws(SystemCall.Failure) {
            try SystemCall.run { flock(number, LOCK_EX | LOCK_NB) }
            return true
        } catch {
            if error.number == EWOULDBLOCK { return false }
            throw error
        }
    }
}
