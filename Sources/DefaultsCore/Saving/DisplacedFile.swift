import CFork
import Glibc
package import Linux

/// A displaced file, which stays open, and under its hidden name, until no program can be writing to it.
///
/// A writer that resolved the file's name before the exchange may open the displaced inode afterwards, or continue to
/// write to it. So the file is read once the last writer has closed it, and again a second later. While this object
/// exists, the file is locked with `flock`, so that no other process takes it for a leftover of a crash.
package final class DisplacedFile: Sendable {
    /// The domain's file, whose earlier version this is.
    package let original: DomainFile
    private let file: FileDescriptor
    let temporaryPath: String
    /// The time of the last check, before the exchange, that the expected version was in place.
    private let checked: Timestamp

    init(_ original: DomainFile, file: consuming FileDescriptor, temporaryPath: String, after checked: Timestamp) {
        self.original = original
        self.file = file
        self.temporaryPath = temporaryPath
        self.checked = checked
        // A forked child would otherwise keep holding the lock.
        fork_close_in_child(self.file.number)
        // Use a shared lock, since a program that locks its own files may hold one too.
        flock(self.file.number, LOCK_SH | LOCK_NB)
    }

    deinit { fork_keep_in_child(file.number) }

    /// Reads the displaced file's current contents.
    ///
    /// - Parameter known: The version that has already been merged, if any.
    /// - Returns: The outcome; `beingWritten` while a program has the file open for writing.
    package func examine(known: FileVersion?) -> FileReading {
        do throws(SystemCall.Failure) {
            guard let (bytes, version, _) = try original.readWhole(file, openWriters: .wait) else {
                return .beingWritten
            }
            if known?.hash == version.hash { return .unchanged(version) }
            var reading = original.parse(bytes, of: version)
            if case .contents(var contents) = reading {
                if SaveMark.isSet(on: file) { contents.evidence.isUnread = Seal.isUnread(file) }
                contents.setTime(displacedAfter: checked)
                reading = .contents(contents)
            }
            return reading
        } catch {
            return .unusable(
                original.damage(after: error, of: "The version of \(original.path) that was just replaced"))
        }
    }

    /// Returns the displaced file's current bytes, whether or not they parse.
    ///
    /// - Throws: EBUSY while a program is writing to the file.
    package func bytes() throws(SystemCall.Failure) -> [UInt8] {
        guard let whole = try original.readWhole(file, openWriters: .readAnyway) else {
            throw SystemCall.Failure(number: EBUSY)
        }
        return whole.bytes
    }

    /// Backs up the displaced file beside the original, unless it still is the version that the save replaced.
    ///
    /// - Parameter expected: The hash of that version.
    /// - Returns: The copy's path; `nil` if none is needed.
    /// - Throws: The failure of the system call, such as EBUSY while a program is writing to the file.
    package func backUp(unless expected: ContentHash?) throws(SystemCall.Failure) -> String? {
        do throws(SystemCall.Failure) {
            let bytes = try bytes()
            if ContentHash(bytes) == expected { return nil }
            return try BackupFile.write(bytes, of: original.path, because: .displaced)
        } catch {
            guard error.number == EFBIG else { throw error }
            return try BackupFile.move(temporaryPath, of: original.path, because: .displaced)
        }
    }

    /// Removes the file's hidden name; this object can still read the file.
    ///
    /// - Returns: False if the system refuses.
    @discardableResult
    package func removeName() -> Bool {
        unlink(temporaryPath) == 0 || errno == ENOENT
    }
}
