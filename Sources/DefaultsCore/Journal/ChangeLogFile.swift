import CLinux
import Glibc
import Linux

/// A copy of the change log in a file, so that cursors, unsaved edits and the history survive the agent and a reboot.
///
/// The file has a header followed by entries, each with its length and hash. New entries are appended. A file that
/// exceeds its size limit is replaced by a version without the records that the log has discarded, which move to the
/// archive. Appended entries aren't synchronized until the agent ends and closes the log, or a new version replaces
/// the file. If the system ends before that, the last records may be lost. A log of another boot that wasn't closed
/// therefore continues under a new epoch.
///
/// Unchecked because a new version is written on one thread and then used on others. Until it replaces the old one,
/// only that thread has it; from then on, `Journal.logFile` guards it.
final class ChangeLogFile: @unchecked Sendable {
    let path: String
    private let file: FileDescriptor
    /// The path of a new version that hasn't replaced the old one, and so is removed with this object.
    private var draftPath: String?
    private var size: Int
    /// The revision of the first record in the file.
    private var first: Revision
    /// The position of each record in the file.
    private var ranges: [Range<Int>] = []
    /// The keys whose values don't get into the file.
    var exclusions: HistoryExclusions
    /// The identity of the log and this file.
    private(set) var identity: LogIdentity

    /// The size in bytes above which the file should be replaced: at least twice the size of a new version.
    var sizeLimit: Int
    /// The size limit before it was raised because the file couldn't be replaced.
    private(set) var firstSizeLimit: Int

    /// Whether the file should be replaced by a version without the records that the log has discarded.
    var isOversized: Bool { size > sizeLimit }

    /// Opens a file that was recovered, to append entries to it.
    ///
    /// - Parameters:
    ///   - recovered: The contents of the file.
    ///   - epoch: The epoch under which the log continues.
    ///   - sizeLimit: The size in bytes above which the file should be replaced.
    ///   - exclusions: The keys whose values don't get into the file.
    /// - Throws: The failure of the system call.
    init(
        continuing recovered: RecoveredLog, epoch: Epoch, sizeLimit: Int,
        excluding exclusions: HistoryExclusions = HistoryExclusions()
    ) throws(SystemCall.Failure) {
        (path, size, first) = (recovered.path, recovered.size, recovered.first)
        (ranges, self.sizeLimit, self.exclusions) = (recovered.ranges, sizeLimit, exclusions)
        firstSizeLimit = sizeLimit
        identity = recovered.identity
        file = try FileDescriptor(opening: path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK)
        // If the attribute had a larger size than the file, the next agent would take the file for cut.
        try recordSize()
        // Otherwise, a log that was closed would still count as closed after a power failure.
        try SystemCall.run { ftruncate(file.number, off_t(size)) }
        try ChangeLogHeader(epoch: epoch, start: first - 1).write(to: path)
        if !recovered.isIdentified { try append([.identity(identity)]) }
        if recovered.isClosed { try file.synchronize() }
        // Much of the file is repeated marks, which earlier versions of the agent wrote.
        if size > recovered.usefulSize * 2 + (1 << 20) { self.sizeLimit = 0 }
    }

    /// Appends entries.
    ///
    /// - Throws: The failure of the system call; the file then still ends with the previous entry, if possible.
    func append(_ entries: [LogEntry]) throws(SystemCall.Failure) {
        var bytes: [UInt8] = []
        var new: [Range<Int>] = []
        for entry in entries {
            let start = size + bytes.count
            bytes += exclusions.redact(entry).encoded
            if case .record = entry { new.append(start..<size + bytes.count) }
        }
        do throws(SystemCall.Failure) {
            try file.write(bytes)
        } catch {
            // If this fails, too, the next agent discards the incomplete entry.
            ftruncate(file.number, off_t(size))
            throw error
        }
        size += bytes.count
        ranges += new
        // An earlier, lower size does no harm.
        try? recordSize()
    }

    /// The extended attribute with a size that the file has had.
    private static let sizeAttribute = "user.defaultsd.size"

    /// Records the file's size in an attribute, so that a later agent can tell that the file has lost its end.
    ///
    /// The attribute stays if the file is cut, or overwritten with a backup. It takes a few microseconds to set.
    ///
    /// - Throws: The failure of the system call, if the file still has an attribute with an earlier size.
    private func recordSize() throws(SystemCall.Failure) {
        let text = Array("\(size)".utf8)
        if linux_set_attribute(file.number, Self.sizeAttribute, text, text.count) == 0 {
            // Setting it moves only the time of the last change. If that took seconds, the file would look like a copy.
            futimens(file.number, nil)
            return
        }
        do throws(SystemCall.Failure) {
            try SystemCall.run { linux_remove_attribute(file.number, Self.sizeAttribute) }
        } catch {
            if ![ENODATA, ENOTSUP, ENOSYS].contains(error.number) { throw error }
        }
    }

    /// Returns whether a file has lost entries, because it was cut or overwritten with a backup.
    static func hasLostEnd(_ file: borrowing FileDescriptor) throws(SystemCall.Failure) -> Bool {
        var text = [UInt8](repeating: 0, count: 20)
        var count = 0
        do throws(SystemCall.Failure) {
            count = try SystemCall.run { linux_attribute(file.number, sizeAttribute, &text, text.count) }
        } catch {
            // A longer one isn't the agent's.
            if ![ENODATA, ENOTSUP, ENOSYS, ERANGE].contains(error.number) { throw error }
        }
        guard let size = Int(String(decoding: text[..<count], as: UTF8.self)) else { return false }
        // Only now, since an agent may be appending to the file.
        return try size > file.status().st_size
    }

    /// Whether the file is still at its path.
    ///
    /// Another program may have removed it, or emptied the directory. This is also true if that can't be found out now.
    var isNamed: Bool { !file.hasLostName(path) }

    /// Whether no other program has changed the file's size, so that the positions of its entries are known; also true
    /// if that can't be found out now.
    var isWhole: Bool {
        guard let status = try? file.status() else { return true }
        return status.st_size == off_t(size)
    }

    /// Appends the end of the log, and makes the file durable.
    func close() throws(SystemCall.Failure) {
        try append([.end])
        try file.synchronize()
        try? FileDescriptor.synchronizeDirectory(of: path)
    }

    // MARK: New versions

    /// The contents of a new version of the file.
    ///
    /// A version is written beside the file while entries are still being appended to it, so that no client has to
    /// wait. These entries are then copied.
    struct Contents {
        let epoch: Epoch
        private(set) var identity: LogIdentity
        /// The keys to leave out of the records that are encoded.
        let exclusions: HistoryExclusions
        /// The size limit of the version, which is raised to twice its size.
        let sizeLimit: Int
        /// The old version, if there is one.
        let old: ChangeLogFile?
        /// Whether no other program has changed the size of the old version.
        let isWhole: Bool
        /// The size of the old version, after which its later entries begin.
        let end: Int
        /// The revision of the first record.
        private(set) var first: Revision
        /// The records of the old version to copy without decoding them.
        private(set) var copied: ArraySlice<Range<Int>> = []
        /// The records that only the old version has.
        private(set) var lost: ArraySlice<Range<Int>> = []
        /// Whether those directly precede the first record.
        private(set) var isLostAdjacent = false
        /// The entries after the records that are copied.
        private(set) var entries: [LogEntry]
        /// The revision of the last record.
        let head: Revision

        /// Determines the contents of a new version.
        ///
        /// - Parameters:
        ///   - log: The log.
        ///   - marks: The marks of the domains' files.
        ///   - sessions: The number of each session's last edit.
        ///   - exclusions: The keys to leave out of the records that are encoded.
        ///   - sizeLimit: The size limit of the version.
        ///   - identity: The identity of the log; by default, that of the old version.
        ///   - old: The old version.
        ///   - copies: Whether records may be copied as they are; to encode tens of thousands of records takes a while.
        init(
            of log: ChangeLog, marks: [LogEntry], sessions: [UInt64: UInt64] = [:],
            excluding exclusions: HistoryExclusions = HistoryExclusions(), sizeLimit: Int, identity: LogIdentity? = nil,
            replacing old: ChangeLogFile? = nil, copies: Bool = true
        ) {
            (epoch, first, head, self.old) = (log.epoch, log.oldest, log.head, old)
            (self.exclusions, self.sizeLimit) = (exclusions, sizeLimit)
            self.identity = identity ?? old?.identity ?? LogIdentity()
            self.identity.sessions = sessions
            (isWhole, end) = (old?.isWhole ?? true, old?.size ?? 0)
            var records = log.records(after: log.oldest - 1) ?? []
            if let old, isWhole, first >= old.first {
                let count = Int(min(first - old.first, Revision(old.ranges.count)))
                lost = old.ranges[..<count]
                isLostAdjacent = old.first + Revision(count) == first
                if copies { copied = old.ranges[count...] }
                records.removeFirst(min(copied.count, records.count))
            }
            entries = records.map { .record($0) } + marks
        }

        /// Copies the records that would otherwise be lost, too; requires that they are adjacent.
        mutating func copyLost() {
            first -= Revision(lost.count)
            (copied, lost) = (lost + copied, [])
        }
    }

    /// Reads encoded records, skipping the entries between them, and passes them on a part at a time.
    ///
    /// Another thread may do this while the file is written or replaced.
    func read(
        _ ranges: ArraySlice<Range<Int>>, _ body: (_ records: [UInt8]) throws(SystemCall.Failure) -> Void
    ) throws(SystemCall.Failure) {
        var next = ranges.startIndex
        while next < ranges.endIndex {
            // Records that follow each other are read together.
            var part = ranges[next]
            next += 1
            while next < ranges.endIndex, ranges[next].lowerBound == part.upperBound,
                part.count < LogEntryReader.portion
            {
                part = part.lowerBound..<ranges[next].upperBound
                next += 1
            }
            try body(bytes(part))
        }
    }

    private func bytes(_ range: Range<Int>) throws(SystemCall.Failure) -> [UInt8] {
        let bytes = try file.read(upTo: range.count, from: range.lowerBound)
        guard bytes.count == range.count else { throw SystemCall.Failure(number: EIO) }
        return bytes
    }

    /// Writes a new version beside a file.
    ///
    /// - Parameters:
    ///   - contents: The contents of the version.
    ///   - path: The path of the file.
    /// - Throws: The failure of the system call.
    init(drafting contents: Contents, for path: String) throws(SystemCall.Failure) {
        let draft = Path.unused("\(path)\(Self.draftSuffix)")
        (self.path, first, exclusions) = (path, contents.first, contents.exclusions)
        (sizeLimit, firstSizeLimit) = (contents.sizeLimit, contents.sizeLimit)
        (size, identity) = (ChangeLogHeader.size, contents.identity)
        file = try FileDescriptor(opening: draft, O_RDWR | O_CREAT | O_EXCL | O_APPEND, mode: 0o600)
        draftPath = draft
        identity.file = try LogIdentity.file(file)
        try file.write(ChangeLogHeader(epoch: contents.epoch, start: contents.first - 1).encoded)
        try contents.old?.read(contents.copied) { records throws(SystemCall.Failure) in try file.write(records) }
        for range in contents.copied {
            ranges.append(size..<size + range.count)
            size += range.count
        }
        try append(contents.entries + [.identity(identity)])
        sizeLimit = max(sizeLimit, size * 2)
        firstSizeLimit = sizeLimit
    }

    deinit {
        if let draftPath { unlink(draftPath) }
    }

    private static let draftSuffix = ".new-"

    /// Copies the entries that were appended to the old version after its contents were determined.
    func copyEntries(of old: ChangeLogFile, after end: Int) throws(SystemCall.Failure) {
        let bytes = try old.bytes(end..<old.size)
        try file.write(bytes)
        for range in old.ranges.reversed().prefix(while: { $0.lowerBound >= end }).reversed() {
            ranges.append((range.lowerBound - end + size)..<(range.upperBound - end + size))
        }
        size += bytes.count
    }

    /// Replaces the old version with this one.
    func replaceOld() throws(SystemCall.Failure) {
        // Renaming moves only the time of the last change, as `recordSize` does, and this version may have waited.
        futimens(file.number, nil)
        if let draftPath { try SystemCall.run { rename(draftPath, path) } }
        draftPath = nil
        // So may the file system have.
        futimens(file.number, nil)
    }

    /// Waits until the version is on the disk, so that it doesn't replace a durable file with less.
    func synchronize() throws(SystemCall.Failure) { try file.synchronize() }

    /// Removes incomplete versions of the file that a crash left behind.
    static func removeLeftovers(of path: String) {
        for leftover in Path.numbered("\(path)\(draftSuffix)") { unlink(leftover) }
    }
}
