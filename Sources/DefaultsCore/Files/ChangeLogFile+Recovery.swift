import Glibc
import Linux
package import PropertyList

// Reading the file that an earlier agent left.

extension ChangeLogFile {
    /// The hash of the kernel's identifier of the current boot, which is the same in every container.
    package static let boot = ContentHash(
        (try? FileDescriptor(opening: "/proc/sys/kernel/random/boot_id", O_RDONLY).read(upTo: 64)) ?? [])

    /// The contents of a file that an earlier agent left.
    package struct Recovered: Sendable {
        package let path: String
        /// The log's epoch; a new one if the end of the log may be missing.
        package internal(set) var epoch: Epoch
        /// The revision of the last record, even if that record has been discarded.
        package internal(set) var head: Revision
        package internal(set) var records: [LogRecord] = []
        /// The marks of each domain, oldest first.
        package internal(set) var marks: [Domain: [FileMark]] = [:]
        /// Whether the log continued without this file, so the domains' files may be newer.
        package internal(set) var isOutdated: Bool
        /// The revision of the first record in the file.
        let first: Revision
        /// The size of the file without the end of the log, or an incomplete entry.
        fileprivate(set) var size = ChangeLogHeader.size
        /// The position of each record in the file.
        fileprivate(set) var ranges: [Range<Int>] = []
        /// Whether the last entry is the end of the log.
        fileprivate(set) var isClosed = false

        init(_ path: String, _ header: ChangeLogHeader) {
            (self.path, epoch, head) = (path, header.epoch, header.start)
            (isOutdated, first) = (header.isOutdated, header.start + 1)
        }
    }

    /// Reads the file that an earlier agent left; returns `nil` if there is none or it can't be trusted.
    ///
    /// An incomplete entry at the end is left by a crash, and is discarded. Damage before the end makes the log
    /// untrustworthy; a new epoch must then begin, so that every cursor meets an explicit gap. A log from another boot
    /// also gets a new epoch unless it was closed, since a power failure may have removed records from its end that
    /// followers had seen. So does a log that continued without the file. Their edits are recovered nevertheless.
    package static func recover(
        from path: String, limits: PropertyListLimits, boot: ContentHash = ChangeLogFile.boot
    ) -> Recovered? {
        guard let bytes = contents(of: path), let header = ChangeLogHeader(bytes),
            header.start <= LogRecord.maximumRevision
        else { return nil }
        var recovered = Recovered(path, header)
        var position = ChangeLogHeader.size
        while let range = LogEntry.payload(in: bytes, at: position) {
            guard let payload = LogEntry.intactPayload(range, in: bytes),
                recovered.append(payload, at: range, limits: limits)
            else { return nil }
            position = range.upperBound
        }
        // A crash leaves nothing after an incomplete entry.
        if LogEntry.nextIntact(in: bytes, after: position) != nil { return nil }
        if header.isOutdated || header.boot != boot && !recovered.isClosed { recovered.epoch = .random() }
        return recovered
    }

    /// Returns the records in a damaged file, oldest first, as far as they are intact.
    package static func salvage(from path: String, limits: PropertyListLimits) -> [LogRecord] {
        guard let bytes = contents(of: path) else { return [] }
        var records: [LogRecord] = []
        var start = LogEntry.nextIntact(in: bytes, after: ChangeLogHeader.size - 1)
        while let position = start, let range = LogEntry.payload(in: bytes, at: position) {
            start = LogEntry.nextIntact(in: bytes, after: range.upperBound - 1)
            guard let payload = LogEntry.intactPayload(range, in: bytes),
                let (value, _) = try? PropertyListValue.read(payload, limits: limits),
                let fields = try? Fields(value, of: "An entry"), let record = try? LogRecord(fields),
                record.revision > records.last?.revision ?? 0, record.revision < LogRecord.maximumRevision
            else { continue }
            records.append(record)
        }
        return records
    }

    /// Reads a file, unless it is another user's, who may be able to create files in the socket's directory.
    private static func contents(of path: String) -> [UInt8]? {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK), let status = try? file.status(),
            status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid()
        else { return nil }
        return try? file.read(upTo: Int(status.st_size))
    }
}

extension ChangeLogFile.Recovered {
    /// Appends an entry; returns false if the entry is invalid or can't follow the previous ones.
    fileprivate mutating func append(_ payload: [UInt8], at range: Range<Int>, limits: PropertyListLimits) -> Bool {
        guard let (value, _) = try? PropertyListValue.read(payload, limits: limits),
            let fields = try? Fields(value, of: "An entry")
        else { return false }
        isClosed = fields.values["type"] == "end"
        if isClosed { return true }
        defer { size = range.upperBound }
        if fields.values["type"] == "mark" {
            guard let mark = try? FileMark(fields), mark.revision <= head else { return false }
            note(mark)
            return true
        }
        if fields.values["type"] == .string(FileMarkGroup.type) {
            guard let group = try? FileMarkGroup(fields), group.revision <= head else { return false }
            for mark in group.marks { note(mark) }
            return true
        }
        guard head < LogRecord.maximumRevision, let record = try? LogRecord(fields), record.revision == head + 1
        else {
            return false
        }
        head = record.revision
        records.append(record)
        ranges.append((range.lowerBound - LogEntry.prefixSize)..<range.upperBound)
        return true
    }

    /// Adds a mark; one that only confirms the previous mark replaces it.
    private mutating func note(_ mark: FileMark) {
        if let last = marks[mark.domain]?.last, last.isComplete, mark.isComplete, last.hash == mark.hash {
            marks[mark.domain]?.removeLast()
        }
        marks[mark.domain, default: []].append(mark)
    }

    /// Appends the records and marks of another log, which a later agent kept elsewhere.
    ///
    /// The records get the next revisions, under a new epoch. The marks replace those of the same domains.
    ///
    /// - Parameters:
    ///   - later: The other log.
    ///   - archived: The records that it had lost to an archive of its own, oldest first.
    mutating func append(_ later: ChangeLogFile.Recovered, archived: [LogRecord] = []) {
        var numbers: [Revision: Revision] = [:]
        for record in archived.filter({ $0.revision < later.first }) + later.records {
            head += 1
            numbers[record.revision] = head
            records.append(record.renumbered(numbers))
        }
        for (domain, marks) in later.marks {
            self.marks[domain] = marks.map { mark in
                var mark = mark
                mark.revision = head - min(later.head - min(mark.revision, later.head), head)
                return mark
            }
        }
        epoch = .random()
        isOutdated = true
    }
}

extension LogRecord {
    /// Returns the record with its new number, and with new numbers in the cursor of its origin.
    fileprivate func renumbered(_ numbers: [Revision: Revision]) -> LogRecord {
        var record = self
        record.revision = numbers[revision] ?? revision
        guard case .change(var changeSet) = event, let purpose = changeSet.origin?.purpose else { return record }
        func renumbered(_ cursor: Cursor) -> Cursor? {
            numbers[cursor.revision].map { Cursor(epoch: cursor.epoch, revision: $0) }
        }
        let texts = purpose.texts
        changeSet.origin?.purpose =
            switch purpose {
            case .undo(let cursor): renumbered(cursor).map { .undo($0) } ?? .other(texts.name, of: texts.subject)
            case .redo(let cursor): renumbered(cursor).map { .redo($0) } ?? .other(texts.name, of: texts.subject)
            default: purpose
            }
        record.event = .change(changeSet)
        return record
    }
}
