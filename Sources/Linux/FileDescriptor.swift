import Glibc

/// An open file that is closed at the end of this value's lifetime.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The descriptor's number, valid for the lifetime of this value.
    package let number: Int32

    /// Creates a file descriptor that owns an open file.
    package init(owning number: Int32) {
        self.number = number
    }

    deinit {
        // Don't retry on EINTR: Linux has closed the descriptor by then.
        close(number)
    }

    /// Opens a file, with close-on-exec.
    package init(opening path: UnsafePointer<CChar>, _ flags: Int32, mode: UInt32 = 0) throws(SystemCall.Failure) {
        self.number = try SystemCall.run { Glibc.open(path, flags | O_CLOEXEC, mode) }
    }

    /// Opens a file by its name in this directory, with close-on-exec.
    package func open(
        _ name: UnsafePointer<CChar>, flags: Int32, mode: UInt32 = 0
    ) throws(SystemCall.Failure) -> FileDescriptor {
        FileDescriptor(owning: try SystemCall.run { openat(number, name, flags | O_CLOEXEC, mode) })
    }

    /// Removes a name from this directory.
    package func remove(_ name: UnsafePointer<CChar>, flags: Int32 = 0) throws(SystemCall.Failure) {
        try SystemCall.run { unlinkat(number, name, flags) }
    }

    /// Releases the open file without closing it; the caller becomes its owner.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// Returns whether a path leads to the file, and its last component isn't a symbolic link.
    package func isNamed(_ path: String) -> Bool {
        guard let own = try? status(), let named = try? FileStatus(at: path, followsLinks: false) else { return false }
        return own.isSame(as: named)
    }

    /// Returns whether a path doesn't lead to the file anymore; false if that can't be found out.
    package func hasLostName(_ path: String) -> Bool {
        guard let own = try? status() else { return false }
        return own.hasLostName(path)
    }

    /// Whether this is a directory that has been removed, instead of moved, or unmounted with its file system.
    package var isRemovedDirectory: Bool {
        guard let status = try? status() else { return false }
        if status.st_nlink == 0 { return true }
        // On overlayfs, a removed directory of a lower layer has a link count of 1.
        guard let bytes = SystemCall.target(ofLink: "/proc/self/fd/\(number)"),
            let name = String(validating: bytes, as: UTF8.self), name.hasSuffix(" (deleted)")
        else { return false }
        // A directory may also be moved to such a name.
        return !isNamed(name)
    }

    /// Returns the file's status, from `fstat`.
    package func status() throws(SystemCall.Failure) -> FileStatus { try FileStatus(ofDescriptor: number) }

    /// Reads a number of bytes from the file's position; fewer only at the end of the file.
    package func read(upTo count: Int) throws(SystemCall.Failure) -> [UInt8] {
        try read(upTo: count) { Glibc.read(number, $0, $1) }
    }

    /// Reads a number of bytes from an offset; fewer only at the end of the file.
    package func read(upTo count: Int, from offset: Int) throws(SystemCall.Failure) -> [UInt8] {
        try read(upTo: count) { pread(number, $0, $1, off_t(offset + count - $1)) }
    }

    private func read(
        upTo count: Int, _ read: (_ buffer: UnsafeMutableRawPointer, _ missing: Int) -> Int
    ) throws(SystemCall.Failure) -> [UInt8] {
        var failure: SystemCall.Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = 0
            while filled < count {
                do throws(SystemCall.Failure) {
                    let got = try SystemCall.run {
                        buffer.baseAddress.map { read($0.advanced(by: filled), count - filled) } ?? 0
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

    /// Writes all bytes at an offset of a file that wasn't opened for appending.
    package func write(_ bytes: [UInt8], at offset: Int) throws(SystemCall.Failure) {
        var written = 0
        while written < bytes.count {
            written += try SystemCall.run {
                bytes.withUnsafeBytes {
                    pwrite(
                        number, $0.baseAddress?.advanced(by: written), bytes.count - written, off_t(offset + written))
                }
            }
        }
    }

    /// Returns another descriptor of the same open file, with close-on-exec.
    package func duplicate() throws(SystemCall.Failure) -> FileDescriptor {
        FileDescriptor(owning: try SystemCall.run { fcntl(number, F_DUPFD_CLOEXEC, 0) })
    }

    /// Waits until changes to a name in its directory are on the disk.
    ///
    /// Some file systems can't synchronize directories, which EINVAL indicates (`man 2 fsync`). There is then nothing
    /// to wait for.
    package static func synchronizeDirectory(of path: String) throws(SystemCall.Failure) {
        try synchronizeDirectory(Path.directory(of: path))
    }

    /// Waits until changes to names in a directory are on the disk, where the file system supports that.
    package static func synchronizeDirectory(_ path: UnsafePointer<CChar>) throws(SystemCall.Failure) {
        try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY).synchronizeDirectory()
    }

    /// Waits until changes to names in this directory are on the disk, where the file system supports that.
    package func synchronizeDirectory() throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) { try synchronize() } catch {
            if error.number != EINVAL { throw error }
        }
    }

    /// Waits until everything written to the file is on the disk.
    package func synchronize() throws(SystemCall.Failure) {
        try SystemCall.run { fsync(number) }
    }
}
