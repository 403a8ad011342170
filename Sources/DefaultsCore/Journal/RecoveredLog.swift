import Glibc
package import Linux
package import PropertyList

/// The contents of a log's file that an earlier agent left.
package struct RecoveredLog: Sendable {
    /// The outcome of reading the file.
    package enum Reading: Sendable {
        case missing
        /// The file isn't a log, or isn't the user's: others may be able to create files in the socket's directory.
        case unusable
        case recovered(RecoveredLog)

        /// The contents; `nil` if there are none, or they can't be understood.
        package var log: RecoveredLog? { if case .recovered(let log) = self { log } else { nil } }

        /// The contents of an undamaged file.
        package var intactLog: RecoveredLog? { log.flatMap { $0.isDamaged ? nil : $0 } }

        /// Whether there is a file from which something is lost.
        var isDamaged: Bool { if case .missing = self { false } else { intactLog == nil } }
    }

    package let path: String
    /// The log's epoch; a new one if the end of the log may be missing.
    package private(set) var epoch: Epoch
    /// The revision of the last record, even if that record has been discarded.
    package internal(set) var head: Revision
    /// The intact records, oldest first; without gaps unless the file is damaged.
    package private(set) var records: [LogRecord] = []
    /// The marks of each domain, oldest first.
    package private(set) var marks: [Domain: [FileMark]] = [:]
    /// Whether the log continued without this file, so the domains' files may be newer.
    package private(set) var isOutdated: Bool
    /// Whether the file may lack its end.
    ///
    /// A change of only its mode or owner looks the same.
    private var mayBeOutdated = false
    /// The position behind the last damage; `nil` if no entry before the last intact one is damaged or missing.
    private var damageEnd: Int?
    package var isDamaged: Bool { damageEnd != nil }
    /// The revision of the last record that is missing before others; 0 if none is.
    private(set) var lastMissing: Revision = 0
    /// Whether records may be missing after the last one.
    var mayLackEnd: Bool { damageEnd.map { $0 >= ranges.last?.upperBound ?? 0 } ?? false }
    /// The domains that have marks behind the last damage, so that no newer one can be missing; `nil` if nothing is
    /// damaged but the end.
    private var markedSinceDamage: Set<Domain>?
    /// The log's identity; a new one if the file has none.
    var identity = LogIdentity()
    /// Whether that is the identity of the file.
    private(set) var isIdentified = false
    /// Whether the file has all records, so that it can be continued.
    package var isInFile: Bool { !isDamaged && !hasAddedRecords }
    /// Whether records of another log were added.
    private var hasAddedRecords = false
    /// The revision of the first record in the file.
    let first: Revision
    /// The size of the file without the end of the log, or an incomplete entry.
    private(set) var size = ChangeLogHeader.size
    /// The size of the file without repeated marks.
    private(set) var usefulSize = ChangeLogHeader.size
    /// The position of each record in the file.
    private(set) var ranges: [Range<Int>] = []
    /// Whether the last entry is the end of the log.
    private(set) var isClosed = false

    init(at path: String, header: ChangeLogHeader) {
        (self.path, epoch, head) = (path, header.epoch, header.start)
        (isOutdated, first) = (header.isOutdated, header.start + 1)
    }

    /// Returns whether a domain's file may be newer than its last mark, although no record says so.
    ///
    /// - Parameters:
    ///   - domain: The domain.
    ///   - reading: The file's current state.
    ///   - last: The time of the last record about the domain.
    /// - Returns: Whether only times tell which of the edits in the log are missing from the file.
    func isOutdated(_ domain: Domain, given reading: FileReading, since last: Timestamp?) -> Bool {
        if isOutdated || markedSinceDamage?.contains(domain) == false { return true }
        // The lost part was written after the last record, perhaps in the same tick of the file system's clock.
        if mayBeOutdated, case .contents(let contents) = reading, let last {
            let modified = contents.version.identity.modified.nanoseconds
            return FileClock.mayRepeat(modified: modified, changed: modified, now: last.nanoseconds)
        }
        return mayBeOutdated
    }

    /// The hash of the kernel's identifier of the current boot, which is the same in every container.
    ///
    /// If the identifier can't be read, every process is taken for a boot of its own.
    package static let boot: ContentHash = {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: "/proc/sys/kernel/random/boot_id", O_RDONLY)
            return ContentHash(try file.read(upTo: 64))
        } catch {
            return ContentHash(value: .random(in: 1 ... .max))
        }
    }()

    /// Reads the file that an earlier agent left, a part at a time.
    ///
    /// An incomplete entry at the end is left by a crash, and is discarded. If entries before the end are damaged, the
    /// intact ones are recovered, but a new epoch must begin, so that every cursor meets an explicit gap. A log from
    /// another boot also gets a new epoch unless it was closed, since a power failure may have removed records from its
    /// end that followers had seen. So does a log that continued without the file.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - limits: The limits of an entry.
    ///   - boot: The current boot.
    /// - Returns: The file's contents, as far as they are intact.
    /// - Throws: The failure of the system call. It says nothing about the file's contents, so nothing may replace it.
    package static func read(
        from path: String, limits: PropertyListLimits = Frame.messageLimits, boot: ContentHash = boot
    ) throws(SystemCall.Failure) -> Reading {
        let file: FileDescriptor
        do throws(SystemCall.Failure) {
            file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
        } catch {
            if error.number == ENOENT { return .missing }
            throw error
        }
        let status = try file.status()
        guard status.isRegular, status.isOwn else { return .unusable }
        let header = ChangeLogHeader(try file.read(upTo: ChangeLogHeader.size, from: 0))
        if let header, header.start > LogRecord.maximumRevision { return .unusable }
        var recovered = RecoveredLog(at: path, header: header ?? ChangeLogHeader(epoch: .random(), start: 0))
        recovered.damageEnd = header == nil ? 0 : nil
        let entries = try LogEntryReader(file.duplicate(), size: Int(status.st_size), from: ChangeLogHeader.size)
        try recovered.read(entries, limits: limits)
        if header == nil, recovered.records.isEmpty, recovered.marks.isEmpty { return .unusable }
        // A copy, such as a restored backup, may lack what was in the file that followers have seen.
        let own = try LogIdentity.file(file)
        recovered.isIdentified = recovered.identity.file == own
        if recovered.identity.file != 0 {
            if !recovered.isIdentified { recovered.isOutdated = true }
            // `cp -a` restores the attribute and the time of the last write, but nothing can set the time of the last
            // change. Entries set both; to the second or two, on FAT.
            recovered.mayBeOutdated =
                Timestamp(status.st_ctim).nanoseconds(since: Timestamp(status.st_mtim)) > 3_000_000_000
        }
        recovered.identity.file = own
        if try ChangeLogFile.hasLostEnd(file) {
            recovered.damageEnd = Int(status.st_size)
            recovered.mayBeOutdated = true
        }
        // A power failure may have removed the end.
        if let header, header.boot != boot, !recovered.isClosed { recovered.mayBeOutdated = true }
        if recovered.isOutdated || recovered.mayBeOutdated || recovered.isDamaged { recovered.epoch = .random() }
        return .recovered(recovered)
    }

    /// Reads all entries, and skips damage.
    private mutating func read(
        _ entries: consuming LogEntryReader, limits: PropertyListLimits
    ) throws(SystemCall.Failure) {
        var marks = LoggedMarks()
        while let item = try entries.next() {
            switch item {
            case .entry(let entry):
                if !append(entry, with: &marks, limits: limits) { damageEnd = entry.range.upperBound }
            case .damage(let end): damageEnd = end
            }
        }
        usefulSize += marks.size + ranges.reduce(0) { $0 + $1.count }
        if let damageEnd { markedSinceDamage = marks.domainsMarked(after: damageEnd) }
        self.marks = marks.byDomain()
    }

    /// Appends an entry; returns false if the entry is invalid or can't follow the previous ones.
    private mutating func append(
        _ entry: LogEntryReader.Entry, with marks: inout LoggedMarks, limits: PropertyListLimits
    ) -> Bool {
        isClosed = false
        if marks.repeats(entry.hash, at: entry.range.lowerBound) {
            size = entry.range.upperBound
            return true
        }
        let decoded = LogEntry(decoding: entry.payload, limits: limits)
        if case .end = decoded { isClosed = true } else { size = entry.range.upperBound }
        switch decoded {
        case .record(let record): return add(record, of: entry)
        case .mark(let mark): return add([mark], of: entry, to: &marks)
        case .marks(let group): return add(Array(group.marks), of: entry, to: &marks)
        case .identity(let identity):
            let sessions = self.identity.sessions.merging(identity.sessions, uniquingKeysWith: max)
            if identity.file != 0 { self.identity = identity }
            self.identity.sessions = sessions
            return true
        case .end: return true
        case .thinned, nil: return false
        }
    }

    private mutating func add(
        _ new: [FileMark], of entry: LogEntryReader.Entry, to marks: inout LoggedMarks
    ) -> Bool {
        let newest = new.map(\.revision).max() ?? 0
        if newest > head {
            // The records before the mark are missing.
            guard newest < LogRecord.maximumRevision else { return false }
            damageEnd = entry.range.lowerBound
            (head, lastMissing) = (newest, newest)
        }
        marks.add(new, hashed: entry.hash, at: entry.range)
        return true
    }

    private mutating func add(_ record: LogRecord, of entry: LogEntryReader.Entry) -> Bool {
        guard record.revision > head, record.revision < LogRecord.maximumRevision else { return false }
        if record.revision != head + 1 {
            damageEnd = entry.range.lowerBound
            lastMissing = record.revision - 1
        }
        head = record.revision
        records.append(record)
        ranges.append(entry.range)
        return true
    }

    /// Adds the records and marks of another log, which a later agent kept elsewhere.
    ///
    /// The records get the next revisions, under a new epoch. The marks replace those of the same domains, but edits
    /// that were unsaved here stay so. Records and marks added before aren't added again.
    ///
    /// - Parameters:
    ///   - later: The other log.
    ///   - archived: The records that it had lost to an archive of its own, oldest first.
    mutating func add(_ later: RecoveredLog, archived: [LogRecord] = []) {
        let known = identity.added.map { $0.log == later.identity.log ? $0.revision : 0 } ?? 0
        if later.head <= known, later.head > 0 { return }
        let start = head
        var numbers: [Revision: Revision] = [:]
        let older = archived.filter { $0.revision < later.records.first?.revision ?? .max }
        let new = (older + later.records).filter { $0.revision > known }
        /// Returns the new number of a record, or of the next one that the other log still has.
        func next(_ revision: Revision) -> Revision {
            start + Revision(new.countOfPrefix { $0.revision < revision }) + 1
        }
        for record in new {
            head += 1
            numbers[record.revision] = head
            records.append(record.renumbered(numbers, next: next))
        }
        let earlier = Dictionary(grouping: records.lazy.filter { $0.revision <= start }, by: \.domain)
        for (domain, marks) in later.marks {
            let unsaved = unsavedEdits(of: domain, in: earlier[domain] ?? [])
            self.marks[domain] = marks.map { mark in
                var mark = mark
                let seen = new.prefix { $0.revision <= mark.revision }
                let complete = seen.prefix { $0.revision <= mark.complete }.count
                mark.complete = mark.complete > 0 && unsaved.isEmpty ? start + Revision(complete) : 0
                mark.revision = start + Revision(seen.count)
                mark.lost = Set(mark.lost.compactMap { numbers[$0] })
                if unsaved.isEmpty { return mark }
                // The later agent may not have known these edits. Their times will tell which of them the file has.
                let changed = Set(
                    seen.lazy.compactMap(\.changeSet).filter { $0.domain == domain }.flatMap { $0.changes.map(\.key) })
                mark.pending.merge(unsaved.filter { !changed.contains($0.key) }) { known, _ in known }
                return mark
            }
        }
        epoch = .random()
        isOutdated = true
        hasAddedRecords = true
        identity.added = LogIdentity.Position(log: later.identity.log, revision: later.head)
    }

    /// Returns the edits that a domain's file lacks, by its last certain mark and the records after it.
    private func unsavedEdits(of domain: Domain, in records: [LogRecord]) -> [String: Edit] {
        let mark = marks[domain]?.last { !$0.isIntent && !$0.isReplaced }
        var unsaved = mark?.pending ?? [:]
        for record in records where record.revision > mark?.revision ?? 0 {
            guard let changeSet = record.changeSet, !record.isPartlyLogged else { continue }
            for change in changeSet.changes {
                unsaved[change.key] = nil
                guard case .app = changeSet.source else { continue }
                unsaved[change.key] = Edit(
                    value: change.new, time: record.changeTime, writer: changeSet.source, sequence: Edit.unordered,
                    identity: changeSet.edit)
            }
        }
        return unsaved
    }

    /// Returns whether a mark only confirms the last one of its domain in the file.
    ///
    /// - Parameters:
    ///   - mark: The mark.
    ///   - last: The revision of the last record about the domain.
    /// - Returns: Whether nothing has changed since that mark.
    func confirms(_ mark: FileMark, last: Revision?) -> Bool {
        guard var former = marks[mark.domain]?.last, last ?? 0 <= former.revision else { return false }
        (former.revision, former.unread, former.complete) = (mark.revision, mark.unread, mark.complete)
        return former == mark
    }
}

extension LogRecord {
    /// Returns the record with its new number, and with new numbers in its origin.
    fileprivate func renumbered(_ numbers: [Revision: Revision], next: (Revision) -> Revision) -> LogRecord {
        var record = self
        record.revision = numbers[revision] ?? revision
        guard var changeSet, let purpose = changeSet.origin?.purpose, var reach = purpose.reach else { return record }
        reach.oldest = reach.oldest.mapValues(next)
        reach.first = reach.first.map(next)
        func renumbered(_ cursor: Cursor, _ new: (Cursor, UndoReach) -> Origin.Purpose) -> Origin.Purpose {
            guard let number = numbers[cursor.revision] else { return .other(purpose.texts.name, of: "\(cursor)") }
            return new(Cursor(epoch: cursor.epoch, revision: number), reach)
        }
        changeSet.origin?.purpose =
            switch purpose {
            case .undo(let cursor, _): renumbered(cursor) { .undo($0, $1) }
            case .redo(let cursor, _): renumbered(cursor) { .redo($0, $1) }
            default: purpose
            }
        record.changeSet = changeSet
        return record
    }
}
