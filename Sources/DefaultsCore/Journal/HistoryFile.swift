import Glibc
package import Linux
import PropertyList

/// The contents of an archive, whose records are decoded one by one.
package struct HistoryFile {
    let bytes: [UInt8]
    /// The positions of the payloads of intact records, oldest first.
    private var payloads: [Range<Int>] = []
    /// The changes that the archive has lost by thinning.
    package internal(set) var thinned = ThinnedChanges()
    /// Whether a part is damaged.
    ///
    /// An incomplete entry at the end isn't damage, since it may be about to be written.
    package private(set) var isDamaged = false
    /// The position after the last intact entry.
    private(set) var end = 0
    /// The number of records before the last damage.
    private var countBeforeDamage = 0

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
        let magic = HistoryArchive.magic
        if bytes.starts(with: magic) {
            end = magic.count
        } else if magic.starts(with: bytes) {
            // The file is about to be written.
            return
        } else {
            isDamaged = true
        }
        findEntries()
    }

    /// Finds the intact entries, also those behind damage.
    private mutating func findEntries() {
        var position = end
        while position < bytes.count {
            guard let payload = intactPayload(at: position) else {
                let next = LogEntry.payload(in: bytes, at: position)?.upperBound
                guard
                    let behind = next.flatMap({ intactPayload(at: $0) == nil ? nil : $0 })
                        ?? LogEntry.nextIntact(in: bytes, after: position)
                else {
                    if next != nil || !LogEntry.isIncomplete(bytes[position...]) { recordDamage() }
                    return
                }
                recordDamage()
                position = behind
                continue
            }
            if !payloads.isEmpty || !addThinned(payload) { payloads.append(payload) }
            position = payload.upperBound
            end = position
        }
    }

    private func intactPayload(at position: Int) -> Range<Int>? {
        guard let payload = LogEntry.payload(in: bytes, at: position), !payload.isEmpty,
            ContentHash(bytes[payload]).value == Frame.number(bytes, at: payload.lowerBound - 8)
        else { return nil }
        return payload
    }

    private mutating func recordDamage() {
        isDamaged = true
        countBeforeDamage = payloads.count
    }

    /// Adds the thinned changes in an entry; returns false if it is another one.
    private mutating func addThinned(_ payload: Range<Int>) -> Bool {
        guard let fields = fields(payload) else { return false }
        do throws(DefaultsError) { return try thinned.add(fields) } catch {
            recordDamage()
            return true
        }
    }

    private func fields(_ payload: Range<Int>) -> Fields? {
        guard let value = try? PropertyListValue(parsing: Array(bytes[payload]), limits: Self.limits) else {
            return nil
        }
        return try? Fields(value, of: "An entry")
    }

    /// The number of records.
    package var count: Int { payloads.count }

    /// Returns a record; `nil` for one that this version doesn't know.
    package func record(at index: Int) -> LogRecord? {
        guard let fields = fields(payloads[index]), let record = try? LogRecord(fields),
            record.revision < LogRecord.maximumRevision
        else { return nil }
        return record
    }

    /// The encoded bytes of a record.
    func entry(at index: Int) -> ArraySlice<UInt8> {
        bytes[(payloads[index].lowerBound - LogEntry.prefixSize)..<payloads[index].upperBound]
    }

    /// The intact parts of a damaged file, with a note that any key may have lost changes.
    var intactBytes: [UInt8] {
        let next = (countBeforeDamage..<count).lazy.compactMap { record(at: $0)?.revision }.first
        // Of damage at the end, it isn't known how many changes it has cost.
        return bytes(withLossThrough: next.map { max($0, 1) - 1 } ?? newestRevision + 1)
    }

    /// Returns the intact parts of the file, with a note that any key may have lost changes up to a revision.
    func bytes(withLossThrough revision: Revision) -> [UInt8] {
        var thinned = thinned
        thinned.add(revision)
        return HistoryArchive.magic + thinned.encode(within: .max) + payloads.indices.flatMap { entry(at: $0) }
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
