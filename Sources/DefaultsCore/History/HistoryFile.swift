import Glibc
package import Linux
import PropertyList

/// The contents of an archive, whose records are decoded one by one.
package struct HistoryFile {
    let bytes: [UInt8]
    /// The positions of the payloads, oldest first, up to any damage.
    private var payloads: [Range<Int>] = []
    /// The position after the last whole entry.
    private var end = HistoryArchive.magic.count

    /// The limits of an entry.
    private static let limits = Frame.messageLimits

    /// Reads an archive; `nil` if the file is missing.
    ///
    /// - Throws: The failure of the system call.
    package init?(reading path: String) throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            let status = try file.status()
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else { return nil }
            bytes = try file.read(upTo: Int(status.st_size))
        } catch {
            if error.number == ENOENT { return nil }
            throw error
        }
        guard bytes.starts(with: HistoryArchive.magic) else {
            end = 0
            return
        }
        while let payload = LogEntry.payload(in: bytes, at: end) {
            payloads.append(payload)
            end = payload.upperBound
        }
    }

    /// The number of entries.
    package var count: Int { payloads.count }

    /// Returns the record of an entry; `nil` if the entry is damaged.
    package func record(at index: Int) -> LogRecord? {
        guard let payload = LogEntry.intactPayload(payloads[index], in: bytes),
            let value = try? PropertyListValue(parsing: payload, limits: Self.limits),
            let fields = try? Fields(value, of: "An entry"), let record = try? LogRecord(fields),
            record.revision < LogRecord.maximumRevision
        else { return nil }
        return record
    }

    /// The encoded bytes of an entry.
    func entry(at index: Int) -> ArraySlice<UInt8> {
        bytes[(payloads[index].lowerBound - LogEntry.prefixSize)..<payloads[index].upperBound]
    }

    /// The bytes before the damage; `nil` if there is no damage.
    var bytesBeforeDamage: [UInt8]? {
        if end == bytes.count || bytes.isEmpty { return nil }
        return end == 0 ? HistoryArchive.magic : Array(bytes[..<end])
    }

    /// The revision of the newest record; 0 if the archive is empty.
    package var newestRevision: Revision {
        payloads.indices.reversed().lazy.compactMap { record(at: $0)?.revision }.first ?? 0
    }

    /// Returns the records before a revision, newest first; records that were archived twice appear once.
    package func records(before revision: Revision) -> some Sequence<LogRecord> {
        sequence(state: (payloads.count, revision)) { state -> LogRecord? in
            while state.0 > 0 {
                state.0 -= 1
                if let record = record(at: state.0), record.revision < state.1 {
                    state.1 = record.revision
                    return record
                }
            }
            return nil
        }
    }
}
