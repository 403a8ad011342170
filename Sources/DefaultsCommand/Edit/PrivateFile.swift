import DefaultsCore
import Glibc

/// A file for the user alone, in a directory of its own, in which an editor may leave what it likes.
struct PrivateFile {
    let path: String
    private let directory: String

    /// Makes the directory and the file, below `TMPDIR` or `/tmp`.
    init(named name: String, _ bytes: [UInt8]) throws(Failure) {
        let parent = Environment.current["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/defaults-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
        guard made else {
            throw Failure("No directory can be made in \(parent): \(SystemCall.message(errno)).", .cantCreate)
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(directory)/\(name)"
        do throws(SystemCall.Failure) {
            try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600).write(bytes)
        } catch {
            throw Failure("\(path) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    /// What the file holds now.
    func read() throws(Failure) -> [UInt8] { try InputFile.read(FilePath(path)) }

    /// Removes the file, the copies that an editor left beside it, and the directory.
    func remove() {
        _ = try? ChildProcess.start("rm", ["rm", "-rf", directory]).waitUntilExit()
    }
}
