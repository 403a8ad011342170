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
    case foreign(String)
    /// A file, which need not be there, past all links.
    case file(String)

    /// The most links that the kernel follows.
    private static let mostLinks = 40

    /// Follows the links of a path.
    ///
    /// Those in `/proc/self/fd` are not followed: the kernel doesn't go by their text either, see proc_pid_fd(5).
    ///
    /// - Throws: when they lead nowhere.
    init(_ path: String) throws(SystemCall.Failure) {
        var path = path
        for _ in 0..<Self.mostLinks {
            let cut = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
            if let number = Int32(path[cut...]), let process = Self.owner(ofDescriptorsIn: String(path[..<cut])) {
                self = process == getpid() ? .descriptor(number) : .foreign(path)
                return
            }
            guard let link = try Self.text(ofLink: path) else {
                self = .file(path)
                return
            }
            path = Path.isAbsolute(link) ? link : path[..<cut] + link
        }
        throw SystemCall.Failure(number: ELOOP)
    }

    /// The process of a directory `/proc/<pid>/fd`, or of one of its threads'; `nil` for other directories.
    private static func owner(ofDescriptorsIn directory: String) -> pid_t? {
        guard let resolved = realpath(directory.isEmpty ? "." : directory, nil) else { return nil }
        defer { free(resolved) }
        let parts = Path.names(of: String(cString: resolved))
        guard parts.count > 2, parts[0] == "proc", parts.last == "fd" else { return nil }
        return pid_t(parts[1])
    }

    /// What a link holds; `nil` for what is none.
    ///
    /// - Throws: when it isn't UTF-8: text with something else in its place would be the name of another file.
    private static func text(ofLink path: String) throws(SystemCall.Failure) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { return nil }
        guard let text = String(validating: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) else {
            throw SystemCall.Failure(number: EILSEQ)
        }
        return text
    }
}
