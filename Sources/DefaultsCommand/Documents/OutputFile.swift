import DefaultsCore
import Glibc

/// A file that was named to be written; `-` is standard output.
enum OutputFile {
    /// Writes a file whole or not at all, durably: beside it first, and renamed, so that on failure it is as it was.
    ///
    /// It keeps its permissions, and as far as can be its owner; a link stands for what it leads to. A new one is for the
    /// user alone, or has the permissions of its source, since what was secret there is so here. What is no regular file,
    /// a terminal or a FIFO say, has nothing that could be lost, and is written to, and so is a descriptor such as
    /// `/dev/stdout`.
    ///
    /// - Parameters:
    ///   - bytes: what it is to hold.
    ///   - path: the file.
    ///   - source: the file that the values are from; `nil` for none.
    /// - Throws: when it can't be written.
    static func write(_ bytes: [UInt8], to path: FilePath, from source: FilePath? = nil) throws(Failure) {
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
                try write(bytes, toFile: file, from: source)
            }
        } catch {
            throw failure(path, error)
        }
    }

    private static func failure(_ path: FilePath, _ error: SystemCall.Failure) -> Failure {
        Failure("\(InputFile.title(path)) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
    }

    /// Whether it is the file that standard output is redirected to, which would be replaced under it.
    private static func isStandardOutput(_ target: OutputTarget) -> Bool {
        switch target {
        case .descriptor(let number): return number == STDOUT_FILENO
        case .foreign: return false
        case .file(let path):
            var (status, output) = (stat(), stat())
            return stat(path.cString, &status) == 0 && fstat(STDOUT_FILENO, &output) == 0
                && (status.st_dev, status.st_ino) == (output.st_dev, output.st_ino)
        }
    }

    private static func write(
        _ bytes: [UInt8], toFile path: FilePath, from source: FilePath?
    ) throws(SystemCall.Failure) {
        var status = stat()
        guard stat(path.cString, &status) == 0 else {
            guard errno == ENOENT else { throw SystemCall.Failure(number: errno) }
            let isThere = source.map { !$0.isStandard && stat($0.cString, &status) == 0 } ?? false
            return try replace(path, bytes, mode: isThere ? status.st_mode & 0o666 & ~mask() : 0o600, of: nil)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return try FileDescriptor(opening: path.cString, O_WRONLY | O_NOCTTY).write(bytes)
        }
        try replace(path, bytes, mode: status.st_mode & 0o777, of: (status.st_uid, status.st_gid))
    }

    /// What the user takes from the permissions of new files, which `mkstemp` and `fchmod` don't.
    private static func mask() -> mode_t {
        // It can't be read but by setting it; there is one thread.
        let mask = umask(0o077)
        umask(mask)
        return mask
    }

    /// Has another's file stay theirs where that can be had, or their group's; no other group gets that one's rights.
    ///
    /// - Returns: whether the file has the group.
    private static func keep(_ owner: (user: uid_t, group: gid_t)?, of file: Int32) -> Bool {
        guard let owner else { return true }
        if fchown(file, owner.user, owner.group) == 0 || fchown(file, uid_t.max, owner.group) == 0 { return true }
        var status = stat()
        return fstat(file, &status) == 0 && status.st_gid == owner.group
    }

    private static func replace(
        _ path: FilePath, _ bytes: [UInt8], mode: mode_t, of owner: (user: uid_t, group: gid_t)?
    ) throws(SystemCall.Failure) {
        var temporary = FilePath(bytes: path.prefix + Array(".defaults-XXXXXX".utf8)).cString
        let file = FileDescriptor(owning: try SystemCall.run { mkstemp(&temporary) })
        do throws(SystemCall.Failure) {
            try SystemCall.run { fchmod(file.number, keep(owner, of: file.number) ? mode : mode & 0o707) }
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
