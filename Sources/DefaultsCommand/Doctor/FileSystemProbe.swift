import CLinux
import Glibc
import Linux

/// A test of a file system's abilities with two temporary files.
///
/// Agents ignore the files, because their names are neither those of domains nor those of versions being saved.
enum FileSystemProbe {
    /// Tests the file system of a directory.
    ///
    /// - Throws: The error of the system call if no file can be created.
    static func run(in directory: String) throws(SystemCall.Failure) -> FileSystemExamination.Abilities {
        // A signal that would end this process takes effect only after the files are removed.
        let former = blockSignals()
        defer { restore(former) }
        let first = try create(in: directory)
        defer { unlink(first) }
        var abilities = FileSystemExamination.Abilities()
        try write(to: first, &abilities)
        // A lease requires that no program has the file open for writing.
        abilities.leases = lease(first)
        if let second = try? create(in: directory) {
            defer { unlink(second) }
            abilities.exchange = isSupported(
                linux_rename_exchange(AT_FDCWD, first, AT_FDCWD, second), unless: [EINVAL, ENOSYS, ENOTSUP])
        }
        return abilities
    }

    /// Writes to a file, and sets an attribute.
    private static func write(
        to path: String, _ abilities: inout FileSystemExamination.Abilities
    ) throws(SystemCall.Failure) {
        let file = try FileDescriptor(opening: path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
        let value: [UInt8] = [0x31, 0x0A]
        try file.write(value)
        abilities.fineTimes = (try? file.status()).map { $0.st_mtim.tv_nsec != 0 }
        abilities.attributes = isSupported(
            linux_set_attribute(file.number, "user.defaultsd.doctor", value, value.count), unless: [ENOTSUP, ENOSYS])
    }

    private static func lease(_ path: String) -> Bool? {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) else { return nil }
        let result = isSupported(linux_lease_read(file.number), unless: [EINVAL, ENOSYS, ENOTSUP, ENOLCK])
        if result == true { linux_lease_release(file.number) }
        return result
    }

    /// Returns whether a call succeeded; `nil` if it failed for another reason than a missing ability.
    private static func isSupported(_ result: Int32, unless lacking: [Int32]) -> Bool? {
        let number = errno
        return result == 0 ? true : lacking.contains(number) ? false : nil
    }

    /// Creates an empty file under a free name, and returns its path.
    private static func create(in directory: String) throws(SystemCall.Failure) -> String {
        var number = 0
        while true {
            let path = "\(directory)/.defaultsd.doctor.\(getpid()).\(number)"
            do throws(SystemCall.Failure) {
                _ = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
                return path
            } catch {
                // The name is that of the first file, or of a file left by a process that was killed.
                guard error.number == EEXIST, number < 16 else { throw error }
                number += 1
            }
        }
    }

    private static func blockSignals() -> sigset_t {
        var (all, former) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, &former)
        return former
    }

    private static func restore(_ mask: sigset_t) {
        var mask = mask
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }
}
