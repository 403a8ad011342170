import DefaultsCore
import Glibc
import Linux

/// What a path that is to be written leads to.
enum OutputTarget {
    /// A descriptor of this process, as `/dev/stdout` and `/dev/fd/3` name one.
    ///
    /// It may be of a regular file, since output is redirected: then that has a place to write at, and what is before it
    /// stays.
    case descriptor(Int32)
    /// A descriptor of another process, by its path below `/proc`.
    case foreign(FilePath)
    /// A file, which need not be there, past all links.
    case file(FilePath)

    /// The most links that the kernel follows.
    private static let mostLinks = 40

    /// Follows the links of a path.
    ///
    /// Those in `/proc/self/fd` are not followed: the kernel doesn't go by their text either, see proc_pid_fd(5).
    ///
    /// - Throws: when they lead nowhere.
    init(_ path: FilePath) throws(SystemCall.Failure) {
        var path = path
        for _ in 0..<Self.mostLinks {
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

    /// The process of a directory `/proc/<pid>/fd`, or of one of its threads'; `nil` for other directories.
    private static func owner(ofDescriptorsIn directory: FilePath) -> pid_t? {
        guard let resolved = realpath(directory.cString, nil) else { return nil }
        defer { free(resolved) }
        let parts = Path.names(of: String(cString: resolved))
        guard parts.count > 2, parts[0] == "proc", parts.last == "fd" else { return nil }
        return pid_t(parts[1])
    }

    /// What a link holds; `nil` for what is none.
    private static func text(ofLink path: FilePath) -> FilePath? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path.cString, &buffer, buffer.count)
        return count > 0 ? FilePath(bytes: buffer[..<count].map { UInt8(bitPattern: $0) }) : nil
    }
}
