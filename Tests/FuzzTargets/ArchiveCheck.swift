import DefaultsCore
import Glibc

/// A check that an archive's records are in order, whatever the file contains, and that a record can be added to it.
enum ArchiveCheck {
    static func check(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        // The file is in memory, since there are thousands per second.
        let path = "/dev/shm/defaultsd-fuzz-archive-\(getpid())-\(pthread_self())"
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer {
            close(file)
            unlink(path)
            unlink("\(path).damaged-1")
        }
        guard file >= 0, bytes.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) == bytes.count else { return }
        let before = records(at: path)
        for (record, next) in zip(before, before.dropFirst()) where next.revision >= record.revision {
            throw FuzzTarget.Finding(description: "Revision \(next.revision) follows \(record.revision).")
        }
        let last = Revision(Int64.max) - 1
        guard let domain = try? DomainName("a"), (before.first?.revision ?? 0) < last else { return }
        let record = LogRecord(
            revision: last, time: Timestamp(nanoseconds: 0), event: .recovered(Domain(domain)))
        var archive = HistoryArchive(path: path)
        guard (try? archive.append([record])) != nil, records(at: path) == [record] + before else {
            throw FuzzTarget.Finding(description: "A record added to the archive isn't in it, or others are gone.")
        }
    }

    private static func records(at path: String) -> [LogRecord] {
        ((try? HistoryFile(reading: path)) ?? nil).map { Array($0.records(before: .max)) } ?? []
    }
}
