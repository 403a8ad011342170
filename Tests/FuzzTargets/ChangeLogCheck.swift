import DefaultsCore
import Glibc
import PropertyList

/// A check that the records recovered or salvaged from a change log are in order, whatever the file contains.
///
/// If the first byte is "=", the rest is the file as it is. If not, the rest is one property list per line, which
/// become the entries of a valid file: the hashes would otherwise refuse nearly every mutated entry.
enum ChangeLogCheck {
    static func check(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        guard let first = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        let contents = first == UInt8(ascii: "=") ? rest : framed(rest)
        // The file is in memory, since there are thousands per second.
        let path = "/dev/shm/defaultsd-fuzz-\(getpid())-\(pthread_self())"
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        guard file >= 0, contents.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) == contents.count else {
            return
        }
        let limits = PropertyListLimits(depth: 64, bytes: 1 << 20, objects: 10_000)
        let salvaged = ChangeLogFile.salvage(from: path, limits: limits)
        for (record, next) in zip(salvaged, salvaged.dropFirst()) where next.revision <= record.revision {
            throw FuzzTarget.Finding(description: "Salvaged revision \(next.revision) follows \(record.revision).")
        }
        guard let recovered = ChangeLogFile.recover(from: path, limits: limits) else { return }
        if recovered.records.count > salvaged.count {
            throw FuzzTarget.Finding(description: "A record of an intact log can't be salvaged.")
        }
        if let last = recovered.records.last, last.revision != recovered.head {
            throw FuzzTarget.Finding(
                description: "The head is \(recovered.head), but the last record is \(last.revision).")
        }
        for (record, next) in zip(recovered.records, recovered.records.dropFirst())
        where next.revision != record.revision + 1 {
            throw FuzzTarget.Finding(description: "Revision \(next.revision) follows \(record.revision).")
        }
    }

    private static func framed(_ lines: [UInt8]) -> [UInt8] {
        var bytes = Array("defaultsd log 3\n".utf8) + bigEndian(7) + bigEndian(0)
        bytes += bigEndian(ChangeLogFile.boot.value)
        bytes += bigEndian(ContentHash(bytes).value)
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            guard let value = try? PropertyListValue(parsing: Array(line)), let entry = try? value.write(as: .binary)
            else { continue }
            bytes += bigEndian(UInt64(entry.count)).suffix(4) + bigEndian(ContentHash(entry).value) + entry
        }
        return bytes
    }

    private static func bigEndian(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
}
