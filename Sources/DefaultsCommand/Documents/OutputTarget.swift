import DefaultsCore
import Glibc
import Linux

/// The target of an output path.
enum OutputTarget {
    /// A descriptor of this process, such as `/dev/stdout` or `/dev/fd/3`.
    ///
    /// If it refers to a regular file, because output is redirected, writing continues at its offset and preserves what
    /// precedes it.
    case descriptor(Int32)
    /// A descriptor of another process, as a path below `/proc`.
    case foreign(FilePath)
    /// A file, with all links resolved; it need not exist.
    case file(FilePath)

    /// The maximum number of links that the kernel follows.
    private static let maximumLinks = 40

    /// Follows the links of a path.
    ///
    /// Links in `/proc/self/fd` are not followed, because the kernel doesn't resolve their text either; see
    /// proc_pid_fd(5).
    ///
    /// - Throws: `ELOOP` if there are too many links.
    init(_ path: FilePath) throws(SystemCall.Failure) {
        var path = path
        for _ in 0..<Self.maximumLinks {
            if let number = Int32(String(decoding: path.name, as: UTF8.self)),
                let process = Self.owner(ofDescriptorsIn: path.directory)
            {
                self = process == getpid() ? .descriptor(number) : .foreign(path)
                return
            }
            guard let link = Self.text(ofLink: path) else {
                self = .file(path)
                return
            }
            path = FilePath(bytes: link.isAbsolute ? link.bytes : path.prefix + link.bytes)
        }
        throw SystemCall.Failure(number: ELOOP)
    }

    /// Returns the process for a directory `/proc/<pid>/fd` or `/proc/<pid>/task/<tid>/fd`; `nil` for other
    /// directories.
    private static func owner(ofDescriptorsIn directory: FilePath) -> pid_t? {
        guard let resolved = realpath(directory.cString, nil) else { return nil }
        defer { free(resolved) }
        let parts = Path.names(of: String(cString: resolved))
        guard parts.count > 2, parts[0] == "proc", parts.last == "fd" else { return nil }
        return pid_t(parts[1])
    }

    /// Returns the text of a link; `nil` if the path is not a link.
    private static func text(ofLink path: FilePath) -> FilePath? {
        SystemCall.target(ofLink: path.cString).map { FilePath(bytes: $0) }
    }
}
