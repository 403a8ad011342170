import Glibc
package import Linux
package import PropertyList

/// A copy of the change log in a file, so that cursors and unsaved edits survive a crash or an upgrade of the agent.
///
/// The file has a header followed by entries, each with its length and hash. New entries are appended, and the file is
/// rewritten once it exceeds its size limit, which is at least twice its size when it was last rewritten. The records
/// that it then loses are moved to the archive first. Writes aren't synchronized until the agent ends and closes the
/// log. If the system ends before that, the last records may be lost. A log of another boot that wasn't closed
/// therefore continues under a new epoch.
package final class ChangeLogFile {
    /// The magic number, which identifies the format.
    ///
    /// Formats 2 and 3 are still read. Format 2 had no groups of marks, and both had no end. Format 1 didn't name the
    /// boot, so a reader couldn't tell whether the end of the log had been lost. No release wrote that format, and none
    /// reads it: such a file is replaced, and a new epoch begins.
    private static let magic = Array("defaultsd log 4\n".utf8)
    private static let formerMagics = ["defaultsd log 2\n", "defaultsd log 3\n"]
    /// The size of the header: the magic number, the epoch, the revision before the first record, the boot, and the
    /// hash of all of these.
    private static let headerSize = magic.count + 32
    private let path: String
    private var file: FileDescriptor
    private var size: Int
    /// The revision of the first record in the file.
    private var first: Revision
    /// The position of each record in the file.
    private var ranges: [Range<Int>] = []

    /// The maximum revision that is accepted from a file.
    fileprivate static let maximumRevision = Revision(Int64.max)

    /// The keys whose values don't get into the file.
    private let exclusions: HistoryExclusions

    /// The size in bytes above which the file should be rewritten.
    package var sizeLimit: Int

    /// Whether the file should be rewritten with `rewrite`.
    package var isOversized: Bool { size > sizeLimit }

    /// Creates a file with a log and marks, replacing any existing file.
    package static func create(
        at path: String, log: ChangeLog, marks: [FileMark], groups: [FileMarkGroup] = [], sizeLimit: Int,
        excluding exclusions: HistoryExclusions = HistoryExclusions()
    ) throws(SystemCall.Failure) -> ChangeLogFile {
        try ChangeLogFile(at: path, log, marks, groups, sizeLimit: sizeLimit, exclusions, keeping: nil)
    }

    private init(
        at path: String, _ log: ChangeLog, _ marks: [FileMark], _ groups: [FileMarkGroup], sizeLimit: Int,
        _ exclusions: HistoryExclusions, keeping old: ChangeLogFile?
    ) throws(SystemCall.Failure) {
        self.exclusions = exclusions
        let temporary = Self.freePath(beside: path)
        var header = Self.magic + Frame.bigEndian(log.epoch.value) + Frame.bigEndian(log.oldest - 1)
        header += Frame.bigEndian(Self.boot.value)
        header += Frame.bigEndian(ContentHash(header).value)
        self.path = path
        self.sizeLimit = sizeLimit
        file = try FileDescriptor(opening: temporary, O_RDWR | O_CREAT | O_EXCL | O_APPEND, mode: 0o600)
        size = header.count
        first = log.oldest
        do throws(SystemCall.Failure) {
            try file.write(header)
            if let old { try copyRecords(of: old) }
            let records = log.records(after: first - 1 + Revision(ranges.count)) ?? []
            try append(records.map { .record($0) } + marks.map { .mark($0) } + groups.map { .marks($0) })
            try SystemCall.run { rename(temporary, path) }
        } catch {
            unlink(temporary)
            throw error
        }
        self.sizeLimit = max(sizeLimit, size * 2)
    }

    /// The hash of the kernel's identifier of the current boot, which is the same in every container.
    package static let boot = ContentHash(
        (try? FileDescriptor(opening: "/proc/sys/kernel/random/boot_id", O_RDONLY).read(upTo: 64)) ?? [])

    /// Returns an unused name beside the log.
    private static func freePath(beside path: String) -> String {
        var status = stat()
        var number = 0
        while lstat("\(path).new-\(number)", &status) == 0 { number += 1 }
        return "\(path).new-\(number)"
    }

    /// Removes incomplete versions of the file that a crash left behind.
    package static func removeLeftovers(of path: String) {
        let directory = PreferencesDirectory(path: Path.directory(of: path))
        let prefix = "\(Path.lastName(of: path)).new-"
        for name in (try? directory.names(in: "")) ?? [] where name.utf8.starts(with: prefix.utf8) {
            unlink("\(directory.path)/\(name)")
        }
    }

    /// Moves a file that can't be recovered out of the way of a new one.
    ///
    /// - Returns: The new path; `nil` if there is no such file, or it is empty, or it can't be moved.
    package static func moveAside(_ path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return nil }
        var number = 1
        while access("\(path).damaged-\(number)", F_OK) == 0 { number += 1 }
        let copy = "\(path).damaged-\(number)"
        return rename(path, copy) == 0 ? copy : nil
    }

    /// Appends entries.
    package func append(_ entries: [LogEntry]) throws(SystemCall.Failure) {
        var bytes: [UInt8] = []
        var new: [Range<Int>] = []
        for entry in entries {
            let start = size + bytes.count
            bytes += exclusions.redact(entry).encoded
            if case .record = entry { new.append(start..<size + bytes.count) }
        }
        try file.write(bytes)
        size += bytes.count
        ranges += new
    }

    /// Rewrites the file with the given marks, and without the records that the log has discarded.
    package func rewrite(
        log: ChangeLog, marks: [FileMark], groups: [FileMarkGroup] = []
    ) throws(SystemCall.Failure) {
        let new = try ChangeLogFile(at: path, log, marks, groups, sizeLimit: sizeLimit, exclusions, keeping: self)
        swap(&file, &new.file)
        (size, first, ranges, sizeLimit) = (new.size, new.first, new.ranges, new.sizeLimit)
    }

    /// Copies another file's records, from revision `first` on, without decoding them.
    ///
    /// Re-encoding tens of thousands of records would make every client wait.
    private func copyRecords(of old: ChangeLogFile) throws(SystemCall.Failure) {
        guard first >= old.first, first - old.first < old.ranges.count else { return }
        // If another program has changed the file's size, the records are encoded again instead.
        guard let records = try old.records(in: old.ranges[Int(first - old.first)...]) else { return }
        try file.write(records.bytes)
        ranges = records.ranges.map { (size + $0.lowerBound)..<(size + $0.upperBound) }
        size += records.bytes.count
    }

    /// Reads the encoded records before a revision, which the file loses when it is rewritten.
    func records(before oldest: Revision) throws(SystemCall.Failure) -> [UInt8] {
        guard oldest > first else { return [] }
        return try records(in: ranges.prefix(Int(min(oldest - first, Revision(ranges.count)))))?.bytes ?? []
    }

    /// Reads records, leaving out what is between them.
    ///
    /// - Returns: The records' bytes and their positions in them; `nil` if there are none, or if another program has
    ///   extended or truncated the file.
    private func records(
        in ranges: ArraySlice<Range<Int>>
    ) throws(SystemCall.Failure) -> (bytes: [UInt8], ranges: [Range<Int>])? {
        guard let start = ranges.first?.lowerBound, let end = ranges.last?.upperBound,
            try file.status().st_size == off_t(size)
        else { return nil }
        let bytes = try file.read(upTo: end - start, from: start)
        guard bytes.count == end - start else { return nil }
        var records: [UInt8] = []
        records.reserveCapacity(bytes.count)
        let positions = ranges.map { range in
            let begin = records.count
            records += bytes[(range.lowerBound - start)..<(range.upperBound - start)]
            return begin..<records.count
        }
        return (records, positions)
    }

    /// Whether the file is still at its path: somebody may have removed it, or emptied the directory.
    var isInPlace: Bool {
        var status = stat()
        guard let own = try? file.status(), stat(path, &status) == 0 else { return false }
        return own.st_ino == status.st_ino && own.st_dev == status.st_dev
    }

    /// Appends the end of the log, and makes the file durable.
    package func close() throws(SystemCall.Failure) {
        try append([.end])
        try file.synchronize()
        try? FileDescriptor.synchronizeDirectory(of: path)
    }

    /// Removes the file, which can't be kept up to date.
    ///
    /// - Returns: False if the file can be neither removed nor emptied, so that a later agent may recover an incomplete
    ///   log.
    package func abandon() -> Bool {
        unlink(path) == 0 || ftruncate(file.number, 0) == 0
    }

    /// The contents of a file that an earlier agent left.
    package struct Recovered: Sendable {
        /// The log's epoch; a new one if the end of the log may be missing.
        package var epoch: Epoch
        /// The revision of the last record, even if that record has been discarded.
        package var head: Revision
        package var records: [LogRecord]
        /// The marks of each domain, oldest first.
        package var marks: [Domain: [FileMark]]
        /// Whether the last entry is the end of the log.
        fileprivate var isClosed = false
    }

    /// Reads the file that an earlier agent left; returns `nil` if there is none or it can't be trusted.
    ///
    /// An incomplete entry at the end is left by a crash, and is discarded. Damage before the end makes the log
    /// untrustworthy; a new epoch must then begin, so that every cursor meets an explicit gap. A log from another boot
    /// also gets a new epoch unless it was closed, since a power failure may have removed records from its end that
    /// followers had seen. Its edits are recovered nevertheless.
    package static func recover(
        from path: String, limits: PropertyListLimits, boot: ContentHash = ChangeLogFile.boot
    ) -> Recovered? {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK), let status = try? file.status(),
            // Other users may be able to create files in the socket's directory.
            status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            let bytes = try? file.read(upTo: Int(status.st_size)), bytes.count >= headerSize,
            bytes.starts(with: magic) || formerMagics.contains(where: { bytes.starts(with: $0.utf8) }),
            ContentHash(Array(bytes[..<(headerSize - 8)])).value == Frame.number(bytes, at: headerSize - 8)
        else { return nil }
        let epoch = Epoch(value: Frame.number(bytes, at: magic.count))
        let head = Frame.number(bytes, at: magic.count + 8)
        // A corrupt file may contain any revision, but a genuine revision never comes near the maximum.
        guard head <= maximumRevision else { return nil }
        let isOfThisBoot = Frame.number(bytes, at: magic.count + 16) == boot.value
        var recovered = Recovered(epoch: epoch, head: head, records: [], marks: [:])
        var position = headerSize
        while let range = LogEntry.payload(in: bytes, at: position) {
            guard let payload = LogEntry.intactPayload(range, in: bytes), recovered.append(payload, limits: limits)
            else { return nil }
            position = range.upperBound
        }
        if !isOfThisBoot, !recovered.isClosed { recovered.epoch = .random() }
        return recovered
    }
}

extension ChangeLogFile.Recovered {
    /// Appends an entry; returns false if the entry is invalid or can't follow the previous ones.
    fileprivate mutating func append(_ payload: [UInt8], limits: PropertyListLimits) -> Bool {
        guard let (value, _) = try? PropertyListValue.read(payload, limits: limits),
            let fields = try? Fields(value, of: "An entry")
        else { return false }
        isClosed = fields.values["type"] == "end"
        if isClosed { return true }
        if fields.values["type"] == "mark" {
            guard let mark = try? FileMark(fields), mark.revision <= head else { return false }
            marks[mark.domain, default: []].append(mark)
            return true
        }
        if fields.values["type"] == .string(FileMarkGroup.type) {
            guard let group = try? FileMarkGroup(fields), group.revision <= head else { return false }
            for mark in group.marks { marks[mark.domain, default: []].append(mark) }
            return true
        }
        guard head < ChangeLogFile.maximumRevision, let record = try? LogRecord(fields), record.revision == head + 1
        else {
            return false
        }
        head = record.revision
        records.append(record)
        return true
    }
}
