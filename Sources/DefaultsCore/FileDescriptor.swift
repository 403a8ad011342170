package import Glibc
import Linux

/// An open file that is closed when its last owner lets go.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number, valid while this value lives.
    package let number: Int32

    /// Takes over an open file.
    package init(owning number: Int32) {
        self.number = number
    }

    deinit {
        // Not repeated on EINTR: Linux has closed the number by then.
        close(number)
    }

    /// Opens a file, close-on-exec.
    package init(opening path: UnsafePointer<CChar>, _ flags: Int32, mode: mode_t = 0) throws(SystemCall.Failure) {
        self.number = try SystemCall.run { open(path, flags | O_CLOEXEC, mode) }
    }

    /// Gives the open file away, to be closed by another owner.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// Whether a path leads to the file, and not by a link.
    func isNamed(_ path: String) -> Bool {
        var (own, named) = (Glibc.stat(), Glibc.stat())
        return fstat(number, &own) == 0 && lstat(path, &named) == 0 && own.st_ino == named.st_ino
            && own.st_dev == named.st_dev
    }

    /// What the system knows of the file.
    package func status() throws(SystemCall.Failure) -> stat {
        var status = stat()
        try SystemCall.run { fstat(number, &status) }
        return status
    }

    /// Reads from where the last read ended, up to a number of bytes; all there is when it is less.
    package func read(upTo count: Int) throws(SystemCall.Failure) -> [UInt8] {
        var failure: SystemCall.Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = 0
            while filled < count {
                do throws(SystemCall.Failure) {
                    let got = try SystemCall.run {
                        Glibc.read(number, buffer.baseAddress?.advanced(by: filled), count - filled)
                    }
                    if got == 0 { return }
                    filled += got
                } catch {
                    failure = error
                    return
                }
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes all bytes, at the file's position.
    package func write(_ bytes: [UInt8]) throws(SystemCall.Failure) {
        var written = 0
        while written < bytes.count {
            written += try SystemCall.run {
                bytes.withUnsafeBytes {
                    Glibc.write(number, $0.baseAddress?.advanced(by: written), bytes.count - written)
                }
            }
        }
    }

    /// Waits until what happened to a name, in the directory where it is, is on the disk.
    ///
    /// Where the file system has no such thing for directories, which EINVAL says (`man 2 fsync`), there is nothing to wait for.
    package static func synchronizeDirectory(of path: String) throws(SystemCall.Failure) {
        try synchronizeDirectory(Path.directory(of: path))
    }

    /// Waits until what happened to names in a directory is on the disk, likewise.
    package static func synchronizeDirectory(_ path: UnsafePointer<CChar>) throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) {
            try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY).synchronize()
        } catch {
            if error.number != EINVAL { throw error }
        }
    }

    /// Waits until what was written is on the disk.
    package func synchronize() throws(SystemCall.Failure) {
        try SystemCall.run { fsync(number) }
    }
}
