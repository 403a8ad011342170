import DefaultsCore
import Glibc
import Linux

/// The file in which `tail --cursor-file` keeps the place that it has shown.
struct CursorFile {
    let path: String

    /// The place where the last run ended; `nil` when the file isn't there yet.
    ///
    /// Removes what a crash has left of earlier runs.
    func read() throws -> Cursor? {
        removeLeftovers()
        let bytes: [UInt8]
        do throws(SystemCall.Failure) {
            bytes = try FileDescriptor(opening: path, O_RDONLY).read(upTo: 200)
        } catch {
            if error.number == ENOENT { return nil }
            throw Failure("The cursor file \(path) can't be read: \(SystemCall.message(error.number)).", .inputOutput)
        }
        let text = String(decoding: bytes, as: UTF8.self).prefix { !$0.isWhitespace }
        if text.isEmpty { return nil }
        return try Cursor(String(text))
    }

    /// Notes a place, once what is before it has been written out.
    func write(_ cursor: Cursor) throws(Failure) {
        do throws(SystemCall.Failure) {
            // Beside it and renamed, so that the end of this process leaves the old place or the new one. It isn't waited for
            // the disk: after a power failure the old place, or none, shows changes again or begins with those that come.
            // Nobody can have taken a name that nobody could guess.
            let temporary = "\(path).\(String(UInt64.random(in: 0...(.max)), radix: 16))\(Self.suffix)"
            let file = try FileDescriptor(opening: temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            do throws(SystemCall.Failure) {
                try file.write(Array("\(cursor)\n".utf8))
                try SystemCall.run { rename(temporary, path) }
            } catch {
                unlink(temporary)
                throw error
            }
        } catch {
            throw Failure(
                "The cursor file \(path) can't be written: \(SystemCall.message(error.number)).", .inputOutput)
        }
    }

    private static let suffix = ".new"
    /// The age, in seconds, at which a temporary file counts as left behind, and is removed.
    private static let leftoverAge = 60

    private func removeLeftovers() {
        let directory = PreferencesDirectory(path: Path.directory(of: path))
        let start = Path.lastName(of: path) + "."
        for name in (try? directory.names(in: "")) ?? [] {
            guard name.utf8.starts(with: start.utf8), name.utf8.suffix(4).elementsEqual(Self.suffix.utf8) else {
                continue
            }
            let number = name.utf8.dropFirst(start.utf8.count).dropLast(Self.suffix.utf8.count)
            let path = "\(directory.path)/\(name)"
            var status = stat()
            guard !number.isEmpty, UInt64(String(Substring(number)), radix: 16) != nil, lstat(path, &status) == 0,
                status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                status.st_mtim.tv_sec + Self.leftoverAge < time(nil)
            else { continue }
            unlink(path)
        }
    }
}
