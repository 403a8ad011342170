import Glibc

/// The lock that a process holds while it saves into a preferences directory: `flock` on a file in it.
///
/// It keeps our own processes (agent, embedded stores) from saving at once, also from other containers and by other paths
/// to the directory, and on NFS from other hosts. It doesn't keep foreign writers out: they don't ask for it. The file is
/// the user's alone, so that nobody else can hold it, and there only as long as the lock is held. Where no file can be made,
/// in a directory that can only be read or on a full disk, it is the directory itself that is locked.
package struct DirectoryLock: ~Copyable {
    /// The file's name.
    package static let fileName = ".defaultsd.lock"

    private let file: FileDescriptor
    /// The file's path; `nil` where the directory itself is locked.
    private let path: String?

    /// Waits for the lock.
    ///
    /// - Throws: `locked` when it isn't free within `timeout` milliseconds, `directory` when the file can't be made.
    package init(_ directory: PreferencesDirectory, timeout milliseconds: Int = 10_000) throws(DefaultsError) {
        let path = "\(directory.path)/\(Self.fileName)"
        do throws(SystemCall.Failure) {
            let locked = try Self.lock(path, in: directory.path, timeout: milliseconds)
            self.path = locked.isDirectory ? nil : path
            file = locked.file
        } catch {
            if error.number == EWOULDBLOCK {
                throw DefaultsError(
                    .locked,
                    "Another process is saving in \(directory.path). To find it, run `lsof \(path)`.",
                    errno: EWOULDBLOCK)
            }
            let what =
                error.number == ENOENT || error.number == ENOTDIR
                ? "The directory \(directory.path) can't be opened"
                : "The lock file \(path) can't be opened or locked (remove it if it is a link or belongs to another user)"
            throw DefaultsError(.directory, errno: error.number, what)
        }
    }

    deinit {
        // Only the holder of the lock removes the file; who waits for it finds that it has, and begins anew.
        if let path, file.isNamed(path) { unlink(path) }
    }

    private struct Locked: ~Copyable {
        let file: FileDescriptor
        let isDirectory: Bool
    }

    /// A blocking `flock` could wait for ever behind a stopped process; so it is tried, at growing distances.
    private static func lock(
        _ path: String, in directory: String, timeout: Int
    ) throws(SystemCall.Failure) -> Locked {
        var waited = 0
        var pause: Int32 = 1
        while true {
            do throws(SystemCall.Failure) {
                if let file = try tryLock(path) { return Locked(file: file, isDirectory: false) }
                continue
            } catch {
                var number = error.number
                if ![EWOULDBLOCK, ENOENT, ENOTDIR, ELOOP, EEXIST].contains(number),
                    let file = try? FileDescriptor(opening: directory, O_RDONLY | O_DIRECTORY)
                {
                    if flock(file.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK {
                        return Locked(file: file, isDirectory: true)
                    }
                    number = EWOULDBLOCK
                }
                guard number == EWOULDBLOCK, waited < timeout else { throw SystemCall.Failure(number: number) }
            }
            poll(nil, 0, pause)
            waited += Int(pause)
            pause = min(pause * 2, 20)
        }
    }

    /// - Returns: the locked file; `nil` when it was removed meanwhile by the process that held it.
    private static func tryLock(_ path: String) throws(SystemCall.Failure) -> FileDescriptor? {
        let file = try openFile(path)
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemCall.Failure(number: EEXIST) }
        try SystemCall.run { flock(file.number, LOCK_EX | LOCK_NB) }
        guard file.isNamed(path) else { return nil }
        return file
    }

    private static func openFile(_ path: String) throws(SystemCall.Failure) -> FileDescriptor {
        do throws(SystemCall.Failure) {
            return try FileDescriptor.lockFile(at: path)
        } catch {
            // Another user's, who works on the directory at the moment: root, as a rule.
            var owner = stat()
            let isForeign = error.number == EACCES && lstat(path, &owner) == 0 && owner.st_uid != geteuid()
            throw isForeign ? SystemCall.Failure(number: EWOULDBLOCK) : error
        }
    }
}
