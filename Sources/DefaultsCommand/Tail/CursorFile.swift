import DefaultsCore
import Glibc
import Linux

/// The file in which `tail --cursor-file` records its progress.
struct CursorFile {
    let path: String

    /// Returns the cursor at which the last run ended; `nil` if the file doesn't exist yet.
    ///
    /// Also removes temporary files that crashed runs left behind.
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
        do throws(DefaultsError) { return try Cursor(String(text)) } catch {
            throw Failure("\(path): \(error.what) Remove the file to begin with the next change.", .dataError)
        }
    }

    /// Records a cursor, after everything before it has been written to the output.
    func write(_ cursor: Cursor) throws(Failure) {
        do throws(SystemCall.Failure) {
            // The cursor is written to a temporary file, which is renamed, so that a killed process leaves either the
            // old cursor or the new one. There is no fsync: after a power failure, an old cursor only repeats changes,
            // and without a cursor, `tail` starts with new changes. The random name prevents others from creating the
            // file first.
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
    /// The age, in seconds, at which a temporary file is considered left behind and is removed.
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
            guard !number.isEmpty, UInt64(String(Substring(number)), radix: 16) != nil,
                let status = try? FileStatus(at: path, followsLinks: false), status.isRegular, status.isOwn,
                status.st_mtim.tv_sec + Self.leftoverAge < time(nil)
            else { continue }
            unlink(path)
        }
    }
}
