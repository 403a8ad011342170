import Glibc
package import Linux
import PropertyList

/// The contents of an archive, whose records are decoded one by one.
package struct HistoryFile {
    let bytes: [UInt8]
    /// The positions of the entries of records, oldest first.
    private var entries: [Range<Int>] = []
    /// The changes that the archive has lost by thinning.
    package internal(set) var thinned = ThinnedChanges()
    /// Whether a part is damaged.
    ///
    /// An incomplete entry at the end isn't damage, since it may be about to be written.
    package var isDamaged: Bool { countBeforeDamage != nil }
    /// The position after the last intact entry.
    private(set) var end = 0
    /// The number of records before the last damage; `nil` if nothing is damaged.
    private var countBeforeDamage: Int?

    /// Reads an archive; `nil` if the file is missing.
    ///
    /// - Throws: The failure of the system call.
    package init?(reading path: String) throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            let status = try file.status()
            guard status.isRegular, status.isOwn else { return nil }
            bytes = try file.read(upTo: Int(status.st_size))
        } catch {
            if error.number == ENOENT { return nil }
            throw error
        }
        let magic = HistoryArchive.magic
        if bytes.starts(with: magic) {
            end = magic.count
        } else if magic.starts(with: bytes) {
            // The file is about to be written.
            return
        } else {
            countBeforeDamage = 0
        }
        var reader = LogEntryReader(bytes, from: end)
        while let item = try reader.next() {
            switch item {
            case .damage: countBeforeDamage = count
            case .entry(let entry):
                end = entry.range.upperBound
                guard entries.isEmpty, case .thinned(let fields)? = LogEntry(decoding: entry.payload) else {
                    entries.append(entry.range)
                    continue
                }
                do throws(DefaultsError) { try thinned.add(fields) } catch { countBeforeDamage = 0 }
            }
        }
        if endsWithDamage { countBeforeDamage = count }
    }

    /// Whether the bytes behind the last intact entry can't be the beginning of one that is incomplete.
    private var endsWithDamage: Bool {
        let payload = bytes[end...].dropFirst(LogEntry.prefixSize)
        guard bytes.count - end >= LogEntry.prefixSize else { return false }
        if Int(Frame.length(bytes, at: end)) <= payload.count { return true }
        if payload.isEmpty { return false }
        // If the hash is right, only the length is damaged.
        return !LogEntry.magic.starts(with: payload.prefix(LogEntry.magic.count))
            || ContentHash(payload).value == Frame.number(bytes, at: end + 4)
    }

    /// The number of records.
    package var count: Int { entries.count }

    /// Returns a record; `nil` for one that this version doesn't know.
    package func record(at index: Int) -> LogRecord? {
        guard case .record(let record)? = LogEntry(decoding: entry(at: index).dropFirst(LogEntry.prefixSize)),
            record.revision < LogRecord.maximumRevision
        else { return nil }
        return record
    }

    /// The encoded bytes of a record.
    func entry(at index: Int) -> ArraySlice<UInt8> { bytes[entries[index]] }

    /// The intact parts of a damaged file, with a note that any key may have lost changes.
    var intactBytes: [UInt8] {
        let next = ((countBeforeDamage ?? count)..<count).lazy.compactMap { record(at: $0)?.revision }.first
        // Of damage at the end, it isn't known how many changes it has cost.
        return bytes(withLossThrough: next.map { max($0, 1) - 1 } ?? newestRevision + 1)
    }

    /// Returns the intact parts of the file, with a note that any key may have lost changes up to a revision.
    func bytes(withLossThrough revision: Revision) -> [UInt8] {
        var thinned = thinned
        thinned.add(revision)
        return HistoryArchive.magic + thinned.encode(within: .max) + entries.flatMap { bytes[$0] }
    }

    /// The revision of the newest record; 0 if the archive is empty.
    package var newestRevision: Revision {
        entries.indices.reversed().lazy.compactMap { record(at: $0)?.revision }.first ?? 0
    }

    /// Returns the records before a revision, newest first; records that were archived twice appear once.
    package func records(before revision: Revision) -> some Sequence<LogRecord> {
        sequence(state: (entries.count, revision)) { state -> LogRecord? in
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
