import Glibc
import Linux
package import PropertyList

/// The change log's copy in a file, so that cursors and unsaved edits outlive a crash or an upgrade of the agent.
///
/// The file is a header and then entries, each with its length and hash. It is appended to, and written anew when it has
/// grown to twice what is kept. It lies in the runtime directory, which is memory as a rule: it needn't outlive the machine,
/// and is never waited for. Where it does outlive it, on a disk, its last records may be lost: so a log of another boot goes
/// on under another epoch.
package final class ChangeLogFile {
    /// An entry.
    package enum Entry: Sendable {
        case record(LogRecord)
        case mark(FileMark)
    }

    /// The format.
    ///
    /// Format 1 named no boot, so nobody could tell whether such a log had lost its end. No release has written it, and none
    /// reads it: it is replaced, and a new epoch begins.
    private static let magic = Array("defaultsd log 2\n".utf8)
    /// The magic, the epoch, the revision before the first record, the boot, and the hash of all that.
    private static let headerSize = magic.count + 32
    private let path: String
    private var file: FileDescriptor
    private var size: Int
    /// The revision of the first record, and where each is.
    private var first: Revision
    private var places: [Range<Int>] = []

    /// The last revision that is taken from a file.
    fileprivate static let mostRevision = Revision(Int64.max)

    /// The number of bytes after which the file wants to be written anew.
    package var sizeLimit: Int

    /// Whether `rewrite` is due.
    package var isOversized: Bool { size > sizeLimit }

    /// Begins a file that holds what is given, in place of one that may be there.
    package static func create(
        at path: String, log: ChangeLog, marks: [FileMark], sizeLimit: Int
    ) throws(SystemCall.Failure) -> ChangeLogFile {
        try ChangeLogFile(at: path, log, marks, sizeLimit: sizeLimit, keeping: nil)
    }

    private init(
        at path: String, _ log: ChangeLog, _ marks: [FileMark], sizeLimit: Int, keeping old: ChangeLogFile?
    ) throws(SystemCall.Failure) {
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
            let records = log.records(after: first - 1 + Revision(places.count)) ?? []
            try append(records.map { .record($0) } + marks.map { .mark($0) })
            try SystemCall.run { rename(temporary, path) }
        } catch {
            unlink(temporary)
            throw error
        }
        self.sizeLimit = max(sizeLimit, size * 2)
    }

    /// The boot of the machine, as the kernel names it; the same in every container.
    package static let boot = ContentHash(
        (try? FileDescriptor(opening: "/proc/sys/kernel/random/boot_id", O_RDONLY).read(upTo: 64)) ?? [])

    /// A name beside the log that nothing bears.
    private static func freePath(beside path: String) -> String {
        var status = stat()
        var number = 0
        while lstat("\(path).new-\(number)", &status) == 0 { number += 1 }
        return "\(path).new-\(number)"
    }

    /// Removes what a crash left of files that were to take the log's place.
    package static func removeLeftovers(of path: String) {
        let directory = PreferencesDirectory(path: Path.directory(of: path))
        let prefix = "\(Path.lastName(of: path)).new-"
        for name in (try? directory.names(in: "")) ?? [] where name.utf8.starts(with: prefix.utf8) {
            unlink("\(directory.path)/\(name)")
        }
    }

    /// Adds entries at the end.
    package func append(_ entries: [Entry]) throws(SystemCall.Failure) {
        var bytes: [UInt8] = []
        var new: [Range<Int>] = []
        for entry in entries {
            let start = size + bytes.count
            bytes += Self.encode(entry)
            if case .record = entry { new.append(start..<size + bytes.count) }
        }
        try file.write(bytes)
        size += bytes.count
        places += new
    }

    /// Writes the file anew without the records that the log has let go, and with these marks.
    package func rewrite(log: ChangeLog, marks: [FileMark]) throws(SystemCall.Failure) {
        let new = try ChangeLogFile(at: path, log, marks, sizeLimit: sizeLimit, keeping: self)
        swap(&file, &new.file)
        (size, first, places, sizeLimit) = (new.size, new.first, new.places, new.sizeLimit)
    }

    /// Takes over another file's records from `first` on, as they are: to encode tens of thousands once more would keep every
    /// client waiting.
    private func copyRecords(of old: ChangeLogFile) throws(SystemCall.Failure) {
        guard first >= old.first, first - old.first < old.places.count else { return }
        let kept = old.places[Int(first - old.first)...]
        guard let start = kept.first?.lowerBound else { return }
        // If someone else has written to the file, or cut it off, its records are encoded once more.
        guard try old.file.status().st_size == off_t(old.size) else { return }
        try SystemCall.run { lseek(old.file.number, off_t(start), SEEK_SET) }
        let bytes = try old.file.read(upTo: old.size - start)
        guard bytes.count == old.size - start else { return }
        var records: [UInt8] = []
        records.reserveCapacity(bytes.count)
        var new: [Range<Int>] = []
        for place in kept {
            let begin = size + records.count
            records += bytes[(place.lowerBound - start)..<(place.upperBound - start)]
            new.append(begin..<size + records.count)
        }
        try file.write(records)
        size += records.count
        places = new
    }

    /// Removes the file, since it can't be kept up.
    ///
    /// - Returns: false when it can't be removed nor emptied, and so may be recovered with less than there was.
    package func abandon() -> Bool {
        unlink(path) == 0 || ftruncate(file.number, 0) == 0
    }

    private static func encode(_ entry: Entry) -> [UInt8] {
        let fields =
            switch entry {
            case .record(let record): record.fields
            case .mark(let mark): mark.fields
            }
        // A value that a domain holds can always be written as binary; an entry that can't is left out by recovery.
        let payload = (try? PropertyListValue.dictionary(fields).write(as: .binary)) ?? []
        return Frame.bigEndian(UInt32(clamping: payload.count)) + Frame.bigEndian(ContentHash(payload).value) + payload
    }

    /// What was in a file that an earlier agent left.
    package struct Recovered: Sendable {
        /// The log's epoch; a new one, if it is of another boot.
        package var epoch: Epoch
        /// The revision of the last record, or of the last one that was let go.
        package var head: Revision
        package var records: [LogRecord]
        /// Each domain's marks, oldest first.
        package var marks: [Domain: [FileMark]]
    }

    /// Reads what an earlier agent left; `nil` when there is nothing, or nothing that can be trusted.
    ///
    /// A torn entry at the end is what a crash leaves, and is let go. Damage before the end makes the log untrustworthy:
    /// then a new epoch must begin, so that every cursor meets an explicit gap. So must it for a log of another boot, since a
    /// power failure may have taken records from its end that followers had seen; its edits are taken up all the same.
    package static func recover(
        from path: String, limits: PropertyListLimits, boot: ContentHash = ChangeLogFile.boot
    ) -> Recovered? {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK), let status = try? file.status(),
            // The socket's directory may be one in which others make files too.
            status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            let bytes = try? file.read(upTo: Int(status.st_size)), bytes.count >= headerSize,
            bytes.starts(with: magic),
            ContentHash(Array(bytes[..<(headerSize - 8)])).value == Frame.number(bytes, at: headerSize - 8)
        else { return nil }
        let epoch = Epoch(value: Frame.number(bytes, at: magic.count))
        let head = Frame.number(bytes, at: magic.count + 8)
        // Anyone who may write the file may have named any revision; none of ours comes near the end of the numbers.
        guard head <= mostRevision else { return nil }
        let isOfThisBoot = Frame.number(bytes, at: magic.count + 16) == boot.value
        var recovered = Recovered(epoch: isOfThisBoot ? epoch : .random(), head: head, records: [], marks: [:])
        var position = headerSize
        while position < bytes.count {
            guard bytes.count - position >= 12 else { break }
            let length = Int(Frame.length(bytes, at: position))
            let hash = ContentHash(value: Frame.number(bytes, at: position + 4))
            guard length <= bytes.count - position - 12 else { break }
            let payload = Array(bytes[position + 12..<position + 12 + length])
            guard ContentHash(payload) == hash, recovered.take(payload, limits: limits) else { return nil }
            position += 12 + length
        }
        return recovered
    }
}

extension ChangeLogFile.Recovered {
    /// Takes an entry; false when it can't follow what is there.
    fileprivate mutating func take(_ payload: [UInt8], limits: PropertyListLimits) -> Bool {
        guard let (value, _) = try? PropertyListValue.read(payload, limits: limits),
            let fields = try? Fields(value, of: "An entry")
        else { return false }
        if fields.values["type"] == "mark" {
            guard let mark = try? FileMark(fields), mark.revision <= head else { return false }
            marks[mark.domain, default: []].append(mark)
            return true
        }
        guard head < ChangeLogFile.mostRevision, let record = try? LogRecord(fields), record.revision == head + 1 else {
            return false
        }
        head = record.revision
        records.append(record)
        return true
    }
}
