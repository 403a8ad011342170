package import CLinux
package import Glibc

/// Reads and writes files as any other program does: with plain system calls, without the code under test.
package enum RawFile {
    /// Writes a file in place: opens, truncates, writes and closes it.
    package static func write(_ bytes: some Collection<UInt8>, to path: String) throws {
        let fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard fd >= 0 else { throw TestSystemError("open \(path)") }
        defer { close(fd) }
        try write(bytes, to: fd)
    }

    /// Closes a file that this process wrote, and waits until the kernel sees no open writer of it.
    ///
    /// A process that another test starts in the meantime holds copies of all descriptors until it executes its
    /// program.
    package static func close(_ writer: Int32) {
        let reader = open("/proc/self/fd/\(writer)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        Glibc.close(writer)
        guard reader >= 0 else { return }
        defer { Glibc.close(reader) }
        _ = eventually(within: 1) {
            let isClosed = linux_lease_read(reader) == 0 || errno != EAGAIN
            linux_lease_release(reader)
            return isClosed
        }
    }

    /// Writes text to a file in place.
    package static func write(_ text: String, to path: String) throws {
        try write(Array(text.utf8), to: path)
    }

    /// Writes bytes to an open file at its current position.
    package static func write(_ bytes: some Collection<UInt8>, to fd: Int32) throws {
        let bytes = Array(bytes)
        guard Glibc.write(fd, bytes, bytes.count) == bytes.count else { throw TestSystemError("write") }
    }

    /// Replaces a file as editors do: writes a new file next to it and renames the new file over the old one.
    package static func replace(_ path: String, with bytes: some Collection<UInt8>) throws {
        let temporary = path + ".tmp~"
        try write(bytes, to: temporary)
        guard rename(temporary, path) == 0 else { throw TestSystemError("rename") }
    }

    /// Reads a whole file.
    package static func read(_ path: String) throws -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else { throw TestSystemError("open \(path)") }
        defer { Glibc.close(fd) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(fd, &buffer, buffer.count)
            guard count >= 0 else { throw TestSystemError("read \(path)") }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// Creates a directory.
    package static func makeDirectory(_ path: String, mode: mode_t = 0o755) throws {
        guard mkdir(path, mode) == 0 else { throw TestSystemError("mkdir \(path)") }
    }

    /// Returns whether the path exists; a dangling symbolic link counts.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Returns the status of a file, without following a symbolic link.
    package static func status(_ path: String) throws -> stat {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw TestSystemError("lstat \(path)") }
        return status
    }
}
