import Glibc
package import Linux
import PropertyList

/// The file with the records that the change log has lost, for the history.
///
/// It has a header, followed by the entries of records as in the change log file. Only the agent writes it; any process
/// of the user may read it.
package struct HistoryArchive: Sendable {
    package let path: String
    /// Whether the file has been found to end with a whole entry.
    private var isChecked = false
    /// The size of the file after it was last thinned, in bytes.
    private var thinnedSize = 0

    static let magic = Array("defaultsd arc 1\n".utf8)

    package init(path: String) {
        self.path = path
    }

    /// Appends encoded entries, and waits until they are on the disk.
    ///
    /// A record that is already in the file may be appended again; readers ignore it.
    ///
    /// - Throws: The failure of the system call; the file is then as it was.
    mutating func append(_ entries: [UInt8]) throws(SystemCall.Failure) {
        if entries.isEmpty { return }
        try check()
        // Opening a FIFO would block otherwise.
        let file = try FileDescriptor(
            opening: path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        let status = try file.status()
        guard status.isRegular else { throw SystemCall.Failure(number: EINVAL) }
        let size = status.st_size
        do throws(SystemCall.Failure) {
            try file.write(size == 0 ? Self.magic + entries : entries)
            try file.synchronize()
        } catch {
            // If this fails, too, readers don't find what is appended behind the incomplete entry, so check again.
            ftruncate(file.number, size)
            isChecked = false
            throw error
        }
        if size == 0 { try? FileDescriptor.synchronizeDirectory(of: path) }
    }

    /// Appends records, without the values of excluded keys.
    package mutating func append(
        _ records: [LogRecord], excluding exclusions: HistoryExclusions = HistoryExclusions()
    ) throws(SystemCall.Failure) {
        try append(records.flatMap { exclusions.redact(.record($0)).encoded })
    }

    /// Records that any key may have lost changes up to a revision.
    ///
    /// - Throws: The failure of the system call; the file is then as it was.
    mutating func recordLoss(through revision: Revision) throws(SystemCall.Failure) {
        try check()
        if let file = try HistoryFile(reading: path), !file.bytes.isEmpty {
            try NewFile.replace(path, with: file.bytes(withLossThrough: revision))
        } else {
            var thinned = ThinnedChanges()
            thinned.add(revision)
            try append(thinned.encode(within: .max))
        }
    }

    /// Returns the revision of the newest record; 0 if the archive is empty or missing.
    ///
    /// - Throws: The failure of the system call.
    func newestRevision() throws(SystemCall.Failure) -> Revision {
        try HistoryFile(reading: path)?.newestRevision ?? 0
    }

    /// The random number of the last removal of excluded keys from the file; 0 if it isn't known, `nil` without a file.
    var redaction: UInt64? {
        do throws(SystemCall.Failure) {
            let bytes = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).read(upTo: 4_096)
            var reader = LogEntryReader(bytes, from: Self.magic.count)
            // Without the number, the file is searched for excluded keys again.
            guard case .entry(let entry)? = try reader.next(),
                case .thinned(let fields)? = LogEntry(decoding: entry.payload)
            else { return 0 }
            return (try? fields.unsigned("redaction")) ?? 0
        } catch {
            return error.number == ENOENT ? nil : 0
        }
    }

    /// Returns whether the file has grown a quarter beyond a size, or beyond the size that thinning left.
    func isOversized(_ limit: Int) -> Bool {
        guard let status = try? FileStatus(at: path) else { return false }
        return Int(status.st_size) > max(limit, thinnedSize) / 4 * 5
    }

    /// Thins the file, and removes excluded keys from it.
    ///
    /// Reads and writes the whole file, which takes about a second.
    ///
    /// - Parameters:
    ///   - thinning: The choice of the records to keep.
    ///   - exclusions: The keys to remove.
    ///   - redaction: A random number, by which a later agent recognizes a file without these keys.
    ///   - now: The current time.
    /// - Throws: The failure of the system call; the file is then as it was.
    mutating func thin(
        _ thinning: HistoryLimits, without exclusions: HistoryExclusions, redaction: UInt64? = nil, now: Timestamp
    ) throws(SystemCall.Failure) {
        try check()
        guard var file = try HistoryFile(reading: path) else { return }
        if let redaction { file.thinned.redaction = redaction }
        let kept = thinning.thin(file, without: exclusions, now: now)
        thinnedSize = kept.count
        if kept != file.bytes { try NewFile.replace(path, with: kept) }
    }

    /// Repairs a damaged file before it is first used.
    private mutating func check() throws(SystemCall.Failure) {
        if !isChecked { try repair() }
        isChecked = true
    }

    /// Moves a damaged file aside, and keeps its intact records; cuts off an incomplete one at the end.
    ///
    /// A crash during `append` leaves an incomplete record. It isn't lost, since records are removed only when `append`
    /// has returned: a change log is then replaced, a damaged one moved aside, and the fallback removed.
    private func repair() throws(SystemCall.Failure) {
        guard let contents = try HistoryFile(reading: path) else { return }
        if contents.isDamaged {
            try NewFile.replace(path, with: contents.intactBytes, movingTo: DamagedCopies.nextPath(of: path))
        } else if contents.end < contents.bytes.count {
            let file = try FileDescriptor(opening: path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
            try SystemCall.run { ftruncate(file.number, off_t(contents.end)) }
            try file.synchronize()
        }
    }

    /// Returns the path of the version that is to replace a file, which a crash may leave behind.
    static func newVersion(of path: String) -> String { "\(path).new" }
}
