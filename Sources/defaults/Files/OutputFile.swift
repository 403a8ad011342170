import DefaultsCore
import Glibc

/// A file that was named to be written; `-` is standard output.
enum OutputFile {
    /// Writes a file whole or not at all, durably; a new one for the user alone.
    ///
    /// What is no regular file, a terminal or a FIFO say, is written to and not replaced.
    static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        if path == "-" { return try StandardOutput.write(bytes) }
        do throws(SystemCall.Failure) {
            var status = stat()
            if stat(path, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFREG else {
                    return try FileDescriptor(opening: path, O_WRONLY | O_NOCTTY).write(bytes)
                }
                try replace(PreferencesDirectory(path: path).resolvedPath, bytes, like: status)
            } else {
                try replace(path, bytes, like: nil)
            }
        } catch {
            throw Failure("\(path) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    private static func replace(_ path: String, _ bytes: [UInt8], like old: stat?) throws(SystemCall.Failure) {
        let cut = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        var template = Array("\(path[..<cut]).defaults-export-XXXXXX".utf8CString)
        let number = try SystemCall.run { mkstemp(&template) }
        let file = FileDescriptor(owning: number)
        let temporary = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var isPlaced = false
        defer { if !isPlaced { unlink(temporary) } }
        if let old {
            // Another's file stays theirs where that can be had.
            _ = fchown(number, old.st_uid, old.st_gid)
            _ = fchmod(number, old.st_mode & 0o777)
        }
        try file.write(bytes)
        try file.synchronize()
        try SystemCall.run { rename(temporary, path) }
        isPlaced = true
        try? FileDescriptor.synchronizeDirectory(of: path)
    }
}
