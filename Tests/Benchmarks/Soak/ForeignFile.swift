import DefaultsCore
import Foundation
import Glibc
import Linux
import PropertyList

/// A file that a foreign writer reads and writes as a whole, without a lock and at full speed.
struct ForeignFile {
    let path: String

    /// Reads the file's values; returns `nil` while another program is in the middle of writing it.
    func read() -> DomainValues? {
        guard let bytes = FileManager.default.contents(atPath: path) else { return access(path, F_OK) == 0 ? nil : [:] }
        // An empty file has been truncated; parsed as old-style text, it would be an empty dictionary.
        guard !bytes.isEmpty, case .dictionary(let values)? = try? PropertyListValue(parsing: [UInt8](bytes)) else {
            return nil
        }
        return values
    }

    /// Writes a new file and renames it over this one.
    func replace(with values: DomainValues) throws {
        let temporary = path + ".new"
        try write(values, to: temporary, pause: 0)
        guard rename(temporary, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Truncates the file and rewrites it, with a pause in microseconds in the middle.
    func overwrite(with values: DomainValues, pause: UInt32 = 0) throws {
        try write(values, to: path, pause: pause)
    }

    /// Overwrites the file without truncating it, with a pause in microseconds in the middle; then cuts off the rest.
    func patch(with values: DomainValues, pause: UInt32) throws {
        let bytes = try PropertyListValue.dictionary(values).write(as: .xml)
        let file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT, mode: 0o600)
        try file.write(Array(bytes[..<(bytes.count / 2)]))
        usleep(pause)
        try file.write(Array(bytes[(bytes.count / 2)...]))
        try SystemCall.run { ftruncate(file.number, off_t(bytes.count)) }
    }

    /// Reads the file and, after a pause, writes it back with a key set, either in place or by renaming.
    ///
    /// Calls `hasRead` once the file has been read.
    func rewrite(
        _ key: String, to value: PropertyListValue, isInPlace: Bool, pause: UInt32, hasRead: () -> Void
    ) throws {
        let file = try FileDescriptor(opening: path, isInPlace ? O_RDWR : O_RDONLY)
        let bytes = try file.read(upTo: Int(file.status().st_size))
        guard case .dictionary(var values) = try PropertyListValue(parsing: bytes) else {
            throw CocoaError(.fileReadCorruptFile)
        }
        hasRead()
        usleep(pause)
        values[key] = value
        guard isInPlace else { return try replace(with: values) }
        let new = try PropertyListValue.dictionary(values).write(as: .xml)
        try SystemCall.run { lseek(file.number, 0, SEEK_SET) }
        try file.write(new)
        try SystemCall.run { ftruncate(file.number, off_t(new.count)) }
    }

    /// Truncates the file, and writes the first half of its previous contents.
    func breakOff() throws {
        let bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
        let file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        try file.write(Array(bytes[..<(bytes.count / 2)]))
    }

    private func write(_ values: DomainValues, to path: String, pause: UInt32) throws {
        let bytes = try PropertyListValue.dictionary(values).write(as: .xml)
        let file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        let half = pause > 0 ? bytes.count / 2 : bytes.count
        try file.write(Array(bytes[..<half]))
        if pause > 0 {
            usleep(pause)
            try file.write(Array(bytes[half...]))
        }
    }
}
