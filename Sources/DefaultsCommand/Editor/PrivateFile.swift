import DefaultsCore
import Glibc
import Linux

/// A file that only the user can read, in a separate directory where the editor may leave backups.
struct PrivateFile {
    let path: String
    private let directory: String

    /// Creates the directory in `TMPDIR` or `/tmp`, and the file inside.
    init(named name: String, _ bytes: [UInt8]) throws(Failure) {
        let parent = Environment.current["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/defaults-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
        guard made else {
            throw Failure("Can't create a directory in \(parent): \(SystemCall.message(errno)).", .cantCreate)
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(directory)/\(name)"
        do throws(SystemCall.Failure) {
            try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600).write(bytes)
        } catch {
            throw Failure("\(path) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    /// Returns the current contents of the file.
    func read() throws(Failure) -> [UInt8] { try InputFile.read(FilePath(path)) }

    /// Removes the file, the backups that an editor left beside it, and the directory.
    func remove() {
        _ = try? ChildProcess.start("rm", with: ["rm", "-rf", directory]).waitUntilExit()
    }
}
