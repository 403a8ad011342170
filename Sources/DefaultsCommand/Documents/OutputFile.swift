import DefaultsCore
import Glibc
import Linux

/// The output file of a verb; `-` is standard output.
enum OutputFile {
    /// Writes a file atomically and durably, by renaming a temporary file; on failure the file is unchanged.
    ///
    /// The permissions of an existing file and, if possible, its owner are preserved. A link is followed. A new file
    /// has the permissions of its source or, without a source, is readable only by the user, so that secrets stay
    /// secret, unless it is for others or in a directory that is. The directory's default list, or else the umask,
    /// limits these permissions. Anything but a regular file, such as a terminal, a FIFO or the descriptor
    /// `/dev/stdout`, is written in place: it has no contents to lose.
    ///
    /// - Parameters:
    ///   - bytes: The contents.
    ///   - path: The file; `-` is standard output.
    ///   - source: The file that the values come from, if any.
    ///   - isForOthers: Whether a new file without a source is for others wherever it is.
    /// - Throws: If the file can't be written.
    static func write(
        _ bytes: [UInt8], to path: FilePath, from source: FilePath? = nil, isForOthers: Bool = false
    ) throws(Failure) {
        if path.isStandard { return try StandardOutput.write(bytes) }
        let target: OutputTarget
        do throws(SystemCall.Failure) { target = try OutputTarget(path) } catch { throw failure(path, error) }
        if isStandardOutput(target) { return try StandardOutput.write(bytes) }
        do throws(SystemCall.Failure) {
            switch target {
            case .descriptor(let number):
                try FileDescriptor(owning: try SystemCall.run { dup(number) }).write(bytes)
            case .foreign(let path):
                try FileDescriptor(opening: path.cString, O_WRONLY | O_APPEND | O_NOCTTY).write(bytes)
            case .file(let file):
                try write(bytes, toFile: file, from: source, isForOthers: isForOthers)
            }
        } catch {
            throw failure(path, error)
        }
    }

    private static func failure(_ path: FilePath, _ error: SystemCall.Failure) -> Failure {
        Failure("\(InputFile.title(path)) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
    }

    /// Returns whether the target is the file that standard output is redirected to.
    ///
    /// Renaming would replace that file, while the descriptor would still refer to the old one.
    private static func isStandardOutput(_ target: OutputTarget) -> Bool {
        switch target {
        case .descriptor(let number): return number == STDOUT_FILENO
        case .foreign: return false
        case .file(let path):
            guard let status = try? FileStatus(at: path.cString),
                let output = try? FileStatus(ofDescriptor: STDOUT_FILENO)
            else { return false }
            return status.isSame(as: output)
        }
    }

    private static func write(
        _ bytes: [UInt8], toFile path: FilePath, from source: FilePath?, isForOthers: Bool
    ) throws(SystemCall.Failure) {
        let status: FileStatus
        do throws(SystemCall.Failure) {
            status = try FileStatus(at: path.cString)
        } catch {
            guard error.number == ENOENT else { throw error }
            let found = source.flatMap { $0.isStandard ? nil : try? FileStatus(at: $0.cString) }
            let isForOthers = isForOthers || NewFile.isForOthers(inDirectory: path.directory.cString)
            return try replace(path, bytes, mode: found.map { $0.st_mode & 0o666 } ?? (isForOthers ? 0o666 : 0o600))
        }
        guard status.isRegular else {
            return try FileDescriptor(opening: path.cString, O_WRONLY | O_NOCTTY).write(bytes)
        }
        try replace(path, bytes, mode: status.st_mode & 0o777, of: status)
    }

    /// Gives a file the owner and group of the file that it replaces, or at least the group.
    ///
    /// - Returns: Whether the file now has the group; if not, the caller must drop the group's permissions.
    private static func give(_ file: Int32, toOwnerOf old: FileStatus) -> Bool {
        if fchown(file, old.st_uid, old.st_gid) == 0 || fchown(file, uid_t.max, old.st_gid) == 0 { return true }
        return (try? FileStatus(ofDescriptor: file))?.st_gid == old.st_gid
    }

    /// Replaces a file, or creates it.
    ///
    /// - Parameters:
    ///   - path: The path, without links.
    ///   - bytes: The contents.
    ///   - mode: The mode; for a new file, the directory's default list or else the umask limits it.
    ///   - old: The status of the file that is replaced, if any.
    /// - Throws: The failure of the system call.
    private static func replace(
        _ path: FilePath, _ bytes: [UInt8], mode: mode_t, of old: FileStatus? = nil
    ) throws(SystemCall.Failure) {
        // The random name prevents others from creating the file first.
        let name = ".defaults-\(String(UInt64.random(in: 0...(.max)), radix: 16))"
        let temporary = FilePath(bytes: path.prefix + Array(name.utf8)).cString
        let flags = O_WRONLY | O_CREAT | O_EXCL
        let file = try FileDescriptor(opening: temporary, flags, mode: old == nil ? mode : 0o600)
        do throws(SystemCall.Failure) {
            if let old {
                let allowed = give(file.number, toOwnerOf: old) ? mode : mode & 0o707
                try SystemCall.run { fchmod(file.number, allowed) }
            }
            try file.write(bytes)
            try file.synchronize()
            try SystemCall.run { rename(temporary, path.cString) }
        } catch {
            unlink(temporary)
            throw error
        }
        try? FileDescriptor.synchronizeDirectory(path.directory.cString)
    }
}

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
