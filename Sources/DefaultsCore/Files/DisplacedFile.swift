import CLinux
import Glibc

/// A version of a file that was replaced, kept open and under its hidden name until it is sure that nobody writes to it any
/// more.
///
/// A writer that had resolved the file's name before the exchange may open, or go on writing, the displaced inode
/// afterwards. So it is read once the last writer has closed it, and once more a second later. As long as this value lives
/// the file is locked with `flock`, so that no other process takes it for a crash's leftover.
package final class DisplacedFile: Sendable {
    /// Where the file was, before it was displaced.
    package let original: DomainFile
    private let file: FileDescriptor
    let temporaryPath: String

    init(_ original: DomainFile, file: consuming FileDescriptor, temporaryPath: String) {
        self.original = original
        self.file = file
        self.temporaryPath = temporaryPath
        // A child forked meanwhile would keep the lock.
        linux_close_in_child(self.file.number)
        // Shared: a program that locks its files this way may hold it, too.
        flock(self.file.number, LOCK_SH | LOCK_NB)
    }

    deinit { linux_keep_in_child(file.number) }

    /// Reads what the displaced file holds now.
    ///
    /// - Parameter known: the state that is merged already.
    /// - Returns: the outcome; `beingWritten` while someone has it open for writing.
    package func examine(known: FileVersion?) -> FileReading {
        do throws(SystemCall.Failure) {
            guard let (bytes, version, _) = try original.readWhole(file, patience: .wait) else {
                return .beingWritten
            }
            if known?.hash == version.hash { return .unchanged(version) }
            return original.parse(bytes, version)
        } catch {
            return .unusable(original.damage(after: error, of: "The version of \(original.path) just replaced"))
        }
    }

    /// The bytes that the displaced file holds now, parsing or not.
    package func bytes() throws(SystemCall.Failure) -> [UInt8] {
        try original.readWhole(file, patience: .insist)?.bytes ?? []
    }

    /// Puts what the displaced file holds, which can't be merged, beside the original.
    ///
    /// - Returns: the copy's path.
    package func keepAside() throws(SystemCall.Failure) -> String {
        do throws(SystemCall.Failure) {
            return try AsideFile.keep(try bytes(), of: original.path, because: .displaced)
        } catch {
            guard error.number == EFBIG else { throw error }
            return try AsideFile.move(temporaryPath, of: original.path, because: .displaced)
        }
    }

    /// Removes the file's temporary name; the file itself stays readable here.
    ///
    /// - Returns: false when the system refuses it.
    @discardableResult
    package func removeName() -> Bool {
        unlink(temporaryPath) == 0 || errno == ENOENT
    }
}
