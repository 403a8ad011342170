import DefaultsCore
import Glibc

/// A file that a person wants written, whole or not at all.
struct OutputDocument {
    private let path: String

    /// Names a file; a link stands for what it leads to.
    init(_ path: String) {
        guard let resolved = realpath(path, nil) else {
            self.path = path
            return
        }
        defer { free(resolved) }
        self.path = String(cString: resolved)
    }

    /// Writes the file: beside it first, and renamed, so that on failure it is as it was.
    ///
    /// It keeps its permissions; a new one gets those of the input, since what was secret there is so here.
    ///
    /// - Parameters:
    ///   - bytes: what it is to hold.
    ///   - input: the file that the values are from; `nil` for none.
    /// - Throws: when it can't be written; then it is as it was.
    func write(_ bytes: [UInt8], from input: String?) throws(Failure) {
        do throws(SystemCall.Failure) {
            var status = stat()
            let exists = stat(path, &status) == 0
            if exists, status.st_mode & S_IFMT != S_IFREG {
                // A device or a pipe has nothing that could be lost.
                try FileDescriptor(opening: path, O_WRONLY).write(bytes)
                return
            }
            var mode: mode_t = 0o600
            if exists || input.map({ stat($0, &status) == 0 }) == true { mode = status.st_mode & 0o666 }
            var template = Array("\(path).XXXXXX".utf8CString)
            let file = FileDescriptor(owning: try SystemCall.run { mkstemp(&template) })
            let temporary = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            do throws(SystemCall.Failure) {
                try file.write(bytes)
                try SystemCall.run { fchmod(file.number, mode) }
                try file.synchronize()
                try SystemCall.run { rename(temporary, path) }
            } catch {
                unlink(temporary)
                throw error
            }
        } catch {
            throw Failure("\(path) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }
}
