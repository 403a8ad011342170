import CLinux
import Glibc
import Linux

/// The steps of a replacement that find, change and synchronize names in the directory.
extension Replacement {
    /// Gives the new file its name; returns false if a file with that name has appeared.
    func place(_ temporaryPath: String) throws(SystemCall.Failure) -> Bool {
        do throws(SystemCall.Failure) {
            try SystemCall.run { linux_rename_noreplace(AT_FDCWD, temporaryPath, AT_FDCWD, target) }
            return true
        } catch {
            if error.number == EEXIST { return false }
            guard error.number == EINVAL || error.number == ENOSYS else { throw error }
        }
        // This file system has no RENAME_NOREPLACE, but creating a hard link also fails if the name exists.
        do throws(SystemCall.Failure) {
            try SystemCall.run { link(temporaryPath, target) }
            unlink(temporaryPath)
            return true
        } catch {
            if error.number == EEXIST { return false }
            throw error
        }
    }

    /// Exchanges the new file and the old one; returns false if the old file has disappeared.
    func exchange(_ temporaryPath: String) throws(SystemCall.Failure) -> Bool {
        do throws(SystemCall.Failure) {
            try SystemCall.run { linux_rename_exchange(AT_FDCWD, temporaryPath, AT_FDCWD, target) }
            return true
        } catch {
            if error.number == ENOENT { return false }
            guard error.number == EINVAL || error.number == ENOSYS else { throw error }
        }
        try exchangeInSteps(temporaryPath)
        return true
    }

    /// Exchanges the two files on a file system without RENAME_EXCHANGE.
    ///
    /// It gives the old file a second name, and then renames the new file over the first. A file that another program
    /// renames over the old one between these steps is lost.
    func exchangeInSteps(_ temporaryPath: String) throws(SystemCall.Failure) {
        let backup = try freePath(new: nil)
        try SystemCall.run { link(target, backup) }
        do throws(SystemCall.Failure) {
            try SystemCall.run { rename(temporaryPath, target) }
        } catch {
            unlink(backup)
            throw error
        }
        try SystemCall.run { rename(backup, temporaryPath) }
    }

    /// Returns an unused hidden name beside the file.
    ///
    /// A version that was displaced a moment ago may already have the first candidate name, and must keep it.
    ///
    /// `new` is the hash of the version to save; `nil` for the old file while it has two names or is being removed.
    /// After a crash, such a file is preserved unless it has the expected contents.
    func freePath(new: ContentHash?) throws(SystemCall.Failure) -> String {
        var temporary = TemporaryName(
            for: original.path, new: new, expected: expected?.hash, isAnnounced: lifetime == .resident)
        var status = stat()
        while true {
            let path = "\(Path.directory(of: target))/\(temporary.name)"
            if lstat(path, &status) != 0 {
                if errno == ENOENT { return path }
                throw SystemCall.Failure(number: errno)
            }
            temporary.serial += 1
        }
    }

    /// Returns the displaced file: the old file, which is already open, or a file that has replaced it since.
    ///
    /// A file that has replaced it must be opened first. If that fails, for example for lack of descriptors, the result
    /// is `nil`, and the file stays under its hidden name, as after a crash. `checked` is the time of the last check
    /// that the old file was in place.
    func displaced(
        _ old: consuming FileDescriptor, at temporaryPath: String, after checked: Timestamp
    ) -> DisplacedFile? {
        if old.isNamed(temporaryPath) {
            return DisplacedFile(original, file: old, temporaryPath: temporaryPath, after: checked)
        }
        guard let file = try? FileDescriptor(openingUnseen: temporaryPath, O_RDONLY | O_NONBLOCK | O_NOCTTY) else {
            return nil
        }
        return DisplacedFile(original, file: file, temporaryPath: temporaryPath, after: checked)
    }

    static func isFile(_ path: String) -> Bool {
        (try? FileStatus(at: path, followsLinks: false))?.isRegular == true
    }

    func makeDirectory() throws(SystemCall.Failure) {
        let directory = Path.directory(of: target)
        if access(directory, F_OK) == 0 { return }
        try NewFile.makeDirectory(directory)
        try FileDescriptor.synchronizeDirectory(of: directory)
    }

    func synchronizeDirectory() throws(SystemCall.Failure) {
        try FileDescriptor.synchronizeDirectory(of: target)
    }
}
