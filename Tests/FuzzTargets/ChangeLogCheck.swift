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
        guard let reading = try? RecoveredLog.read(from: path, limits: limits) else {
            throw FuzzTarget.Finding(description: "The file can't be read.")
        }
        guard case .recovered(let recovered) = reading else { return }
        let revisions = recovered.records.map(\.revision)
        for (revision, next) in zip(revisions, revisions.dropFirst())
        where recovered.isDamaged ? next <= revision : next != revision + 1 {
            throw FuzzTarget.Finding(description: "Revision \(next) follows \(revision).")
        }
        if let last = revisions.last, recovered.isDamaged ? last > recovered.head : last != recovered.head {
            throw FuzzTarget.Finding(description: "The head is \(recovered.head), but the last record is \(last).")
        }
        for mark in recovered.marks.values.joined() where mark.revision > recovered.head {
            throw FuzzTarget.Finding(description: "A mark of \(mark.revision) is behind the head \(recovered.head).")
        }
    }

    private static func framed(_ lines: [UInt8]) -> [UInt8] {
        var bytes = Array("defaultsd log 3\n".utf8) + bigEndian(7) + bigEndian(0)
        bytes += bigEndian(RecoveredLog.boot.value)
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
