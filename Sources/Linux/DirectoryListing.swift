import Glibc

/// A sequence of a directory's entries, in no particular order and without "." and "..".
package struct DirectoryListing: ~Copyable {
    /// One entry.
    package struct Entry {
        /// The name; `nil` if it isn't UTF-8.
        package let name: String?
        /// Whether the entry is a symbolic link, or may be because the file system doesn't tell.
        package let mayBeLink: Bool
    }

    private let stream: OpaquePointer

    /// The descriptor of the open directory.
    package var descriptor: Int32 { dirfd(stream) }

    /// Opens a directory for listing from its beginning.
    ///
    /// - Parameters:
    ///   - path: The directory's path.
    ///   - parent: The open directory that a relative path is relative to; `nil` for the working directory.
    /// - Throws: The error of the system call.
    package init(_ path: String, below parent: Int32? = nil) throws(SystemCall.Failure) {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK
        let directory = FileDescriptor(owning: try SystemCall.run { openat(parent ?? AT_FDCWD, path, flags) })
        guard let stream = fdopendir(directory.number) else { throw SystemCall.Failure(number: errno) }
        self.stream = stream
        _ = directory.release()
    }

    deinit { closedir(stream) }

    /// Returns the next entry, or `nil` at the end.
    package func next() throws(SystemCall.Failure) -> Entry? {
        while true {
            // Only errno distinguishes the end from a failure.
            errno = 0
            guard let entry = readdir(stream) else {
                if errno == 0 { return nil }
                throw SystemCall.Failure(number: errno)
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
                    String(validatingCString: $0)
                }
            }
            if name == "." || name == ".." { continue }
            return Entry(name: name, mayBeLink: [DT_LNK, DT_UNKNOWN].contains(Int(entry.pointee.d_type)))
        }
    }
}
