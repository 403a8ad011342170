import CLinux
import Glibc
import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The change log file")
struct ChangeLogFileTests {
    private let limits = PropertyListLimits()
    private let domain: Domain

    init() throws {
        domain = try Domain("org.example.app")
    }

    /// Returns a log with one record of each kind, and the file marks that a store would write with it.
    private func sample() -> (log: ChangeLog, marks: [FileMark]) {
        var log = ChangeLog(epoch: Epoch(value: 0xABCD))
        let app = Writer.app(AppIdentity(pid: 42, executable: "/usr/bin/app"))
        let changes = [
            KeyChange(key: "a", old: nil, new: .real32(0.1)), KeyChange(key: "b", old: ["x": [1, true]], new: nil),
            KeyChange(key: "c", old: .data([0, 1]), new: .date(PropertyListDate(secondsSinceReferenceDate: 0.5))),
            KeyChange(key: "d", old: .unsigned(.max), new: "\u{1}\u{FFFE}é"),
            KeyChange(key: "e", old: .uid(3), new: .real(.nan)),
        ]
        let overruled = [Overruled(key: "a", value: nil, writer: .file), Overruled(key: "b", value: 1, writer: app)]
        log.append(
            .change(ChangeSet(domain: domain, source: app, changes: changes, overruled: overruled)),
            at: Timestamp(nanoseconds: 1_234_567_890))
        log.append(.damaged(Domain(.global, host: .only("AB-1")), reason: "torn"), at: Timestamp(nanoseconds: -1))
        log.append(.unknown(domain), at: Timestamp(nanoseconds: .max))
        let edit = Edit(value: "new", time: Timestamp(nanoseconds: 5), writer: app, sequence: UInt64(Int64.max))
        let removal = Edit(value: nil, time: Timestamp(nanoseconds: 6), writer: .agent, sequence: 0)
        let marks = [
            FileMark(
                domain: domain, hash: ContentHash(value: .max), revision: 1,
                pending: ["a": edit, "b": removal, "c": edit], replaced: ["a": nil, "b": [1, 2]],
                isMissing: true),
            FileMark(domain: domain, hash: nil, revision: 3, isTroubled: true),
            FileMark(
                domain: domain, hash: nil, revision: 3, isIntent: true,
                expected: FileStamp(inode: UInt64(Int64.max), modified: Timestamp(nanoseconds: -1))),
        ]
        return (log, marks)
    }

    @Test("Entries are recovered whether they were appended or written with a new file", arguments: [true, false])
    func roundTrip(isAppended: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let (log, marks) = sample()
            let records = log.records(after: 0) ?? []
            if isAppended {
                let empty = ChangeLog(epoch: log.epoch)
                let file = try ChangeLogFile.create(at: path, log: empty, marks: [], sizeLimit: 1 << 20)
                try file.append([.record(records[0]), .mark(marks[0])])
                try file.append([.record(records[1]), .record(records[2]), .mark(marks[1]), .mark(marks[2])])
            } else {
                _ = try ChangeLogFile.create(at: path, log: log, marks: marks.map { .mark($0) }, sizeLimit: 1 << 20)
            }
            let recovered = try #require(try intactLog(from: path, limits: limits))
            #expect(recovered.epoch == log.epoch)
            #expect(recovered.head == 3)
            #expect(recovered.records == records)
            #expect(recovered.marks == [domain: marks])
            #expect(try RawFile.status(path).st_mode & 0o7777 == 0o600)
        }
    }

    @Test(
        "A log file that is another user's or a FIFO is ignored, and a link in the way isn't followed",
        arguments: ["other", "fifo", "link"])
    func notOurs(what: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let (log, marks) = sample()
            _ = try ChangeLogFile.create(at: path, log: log, marks: marks.map { .mark($0) }, sizeLimit: 1)
            switch what {
            case "other":
                // This case needs the right to give a file away.
                if chown(path, 65_534, 65_534) != 0 { return }
            case "fifo":
                unlink(path)
                mkfifo(path, 0o600)
            default:
                // A link that another user put at the next file's name is neither followed nor written through.
                try RawFile.write("precious", to: directory + "/other")
                symlink("other", path + ".new")
                _ = try ChangeLogFile.create(at: path, log: log, marks: marks.map { .mark($0) }, sizeLimit: 1)
                #expect(try RawFile.read(directory + "/other") == Array("precious".utf8))
                #expect(try RawFile.status(path).st_mode == S_IFREG | 0o600)
                return
            }
            #expect(try intactLog(from: path, limits: limits) == nil)
        }
    }

    @Test("The file of a log that has dropped records begins after the dropped ones")
    func turnedRing() throws {
        try withTemporaryDirectory { directory in
            var log = ChangeLog(capacity: ChangeLog.Capacity(records: 4))
            log.count(domain, 1...20)
            _ = try ChangeLogFile.create(at: directory + "/log", log: log, marks: [], sizeLimit: 1)
            let recovered = try #require(try intactLog(from: directory + "/log", limits: limits))
            #expect(recovered.records.map(\.revision) == [17, 18, 19, 20])
            #expect(recovered.head == 20)
        }
    }

    @Test("A file that is torn at any byte is recovered up to the last complete entry")
    func tornTail() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let (log, marks) = sample()
            let header = try ChangeLogFile.create(at: path, log: ChangeLog(epoch: log.epoch), marks: [], sizeLimit: 1)
            var ends = [try RawFile.read(path).count]
            let entries: [LogEntry] =
                (log.records(after: 0) ?? []).map { .record($0) } + marks.map { .mark($0) }
            for entry in entries {
                try header.append([entry])
                ends.append(try RawFile.read(path).count)
            }
            let whole = try RawFile.read(path)
            for length in 0...whole.count {
                // The attribute with the size isn't set after an incomplete entry.
                unlink(path)
                try RawFile.write(whole[..<length], to: path)
                let recovered = try intactLog(from: path, limits: limits)
                guard length >= ChangeLogHeader.size else {
                    #expect(recovered == nil)
                    continue
                }
                let entries = ends.dropFirst().count { $0 <= length }
                #expect(recovered?.records.count == min(entries, 3), "torn at \(length)")
                #expect(recovered?.marks[domain]?.count ?? 0 == max(0, entries - 3), "torn at \(length)")
            }
        }
    }

    @Test("Recovery after a flipped bit returns nothing, or the entries before it, but never wrong data")
    func flippedBits() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let (log, marks) = sample()
            _ = try ChangeLogFile.create(at: path, log: log, marks: marks.map { .mark($0) }, sizeLimit: 1)
            let whole = try RawFile.read(path)
            let records = log.records(after: 0) ?? []
            for position in 0..<whole.count * 8 {
                var bytes = whole
                bytes[position / 8] ^= 1 << (position % 8)
                try RawFile.write(bytes, to: path)
                guard let recovered = try intactLog(from: path, limits: limits) else { continue }
                #expect(recovered.epoch == log.epoch, "bit \(position)")
                #expect(records.starts(with: recovered.records), "bit \(position)")
                #expect(marks.starts(with: recovered.marks[domain] ?? []), "bit \(position)")
                #expect(recovered.head == Revision(recovered.records.count), "bit \(position)")
            }
        }
    }

    @Test("Recovery of a log file with random damage never crashes or returns a wrong record")
    func rubbish() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let (log, marks) = sample()
            _ = try ChangeLogFile.create(at: path, log: log, marks: marks.map { .mark($0) }, sizeLimit: 1)
            let whole = try RawFile.read(path)
            for seed in 0..<UInt64(3_000) {
                var random = PseudoRandom(seed: seed)
                var bytes = whole
                for _ in 0...random.below(6) {
                    let start = random.below(bytes.count)
                    let end = min(bytes.count, start + 1 + random.below(20))
                    switch random.below(4) {
                    case 0: for index in start..<end { bytes[index] = 0xFF }
                    case 1: for index in start..<end { bytes[index] = 0 }
                    case 2: for index in start..<end { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
                    default: bytes.removeSubrange(start..<end)
                    }
                    if bytes.isEmpty { bytes = whole }
                }
                try RawFile.write(bytes, to: path)
                let recovered = try intactLog(from: path, limits: limits)
                #expect(
                    recovered.map { (log.records(after: 0) ?? []).starts(with: $0.records) } != false, "seed \(seed)")
            }
            #expect(try intactLog(from: directory + "/none", limits: limits) == nil)
            #expect(try intactLog(from: directory, limits: limits) == nil)
        }
    }

    @Test("Of a damaged log, everything intact is recovered under a new epoch")
    func damage() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let other = try Domain("org.example.other")
            var log = ChangeLog(epoch: Epoch(value: 0xABCD))
            log.count(domain, 1...1)
            log.count(other, 1...4)
            let first = FileMark(domain: domain, hash: nil, revision: 0)
            let marks = [FileMark(domain: other, hash: ContentHash(value: 1), revision: 3)]
            let file = try ChangeLogFile.create(
                at: path, log: ChangeLog(epoch: log.epoch), marks: [.mark(first)], sizeLimit: 1)
            let start = try RawFile.read(path).count
            let records = log.records(after: 0) ?? []
            try file.append([.record(records[0])])
            let end = try RawFile.read(path).count
            try file.append(records.dropFirst().map { .record($0) } + marks.map { .mark($0) })
            let whole = Array(try RawFile.read(path))
            // The header, the first record's length, hash, and contents.
            for position in [3, start, start + 3, start + 6, start + 20, end - 1] {
                var bytes = whole
                bytes[position] ^= 0x40
                try RawFile.write(bytes, to: path)
                guard case .recovered(let found) = try RecoveredLog.read(from: path, limits: limits) else {
                    Issue.record("byte \(position)")
                    continue
                }
                #expect(found.isDamaged && found.epoch != log.epoch && found.head == 5, "byte \(position)")
                #expect(found.records == (position == 3 ? records : Array(records.dropFirst())), "byte \(position)")
                #expect(found.marks == [domain: [first], other: marks], "byte \(position)")
                #expect(!found.isOutdated(other, given: .missing, since: nil), "byte \(position)")
                #expect(found.isOutdated(domain, given: .missing, since: nil) == (position != 3), "byte \(position)")
            }
        }
    }

    @Test(
        "A log that was cut or overwritten with a backup continues under a new epoch",
        arguments: ["cut", "overwritten", "restored with its attributes"])
    func lostEnd(way: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let log = sample().log
            let records = log.records(after: 0) ?? []
            let file = try ChangeLogFile.create(
                at: path, log: ChangeLog(epoch: log.epoch), marks: [], sizeLimit: 1 << 20)
            try file.append([.record(records[0])])
            let backup = try RawFile.read(path)
            try file.append([.record(records[1])])
            #expect(try intactLog(from: path, limits: limits)?.epoch == log.epoch)
            if way == "cut" {
                #expect(truncate(path, off_t(backup.count)) == 0)
            } else {
                try RawFile.write(backup, to: path)
            }
            if way == "restored with its attributes" {
                let text = Array("\(backup.count)".utf8)
                let log = try FileDescriptor(opening: path, O_RDONLY)
                #expect(linux_set_attribute(log.number, "user.defaultsd.size", text, text.count) == 0)
                let hourAgo = timespec(tv_sec: try RawFile.status(path).st_mtim.tv_sec - 3600, tv_nsec: 0)
                #expect(utimensat(AT_FDCWD, path, [hourAgo, hourAgo], 0) == 0)
            }
            guard case .recovered(let rest) = try RecoveredLog.read(from: path, limits: limits) else {
                Issue.record("The log wasn't recovered.")
                return
            }
            #expect(rest.epoch != log.epoch && rest.records == [records[0]])
            #expect(rest.isOutdated(domain, given: .missing, since: nil))
            #expect(rest.isDamaged == (way != "restored with its attributes"))
            if rest.isDamaged { return }
            // Once an agent has continued it, nothing is missing.
            let continued = try ChangeLogFile(
                continuing: rest, epoch: rest.epoch, sizeLimit: 1 << 20)
            try continued.append([.end])
            let again = try #require(try intactLog(from: path, limits: limits))
            #expect(again.epoch == rest.epoch && !again.isOutdated)
        }
    }

    @Test("A copy of a log, such as a restored backup, continues under a new epoch")
    func copy() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let (log, marks) = sample()
            let file = try ChangeLogFile.create(at: path, log: log, marks: marks.map { .mark($0) }, sizeLimit: 1 << 20)
            try file.close()
            #expect(try intactLog(from: path, limits: limits)?.epoch == log.epoch)
            let bytes = try RawFile.read(path)
            // The new file may not get the number of the old one.
            try RawFile.write(bytes, to: path + ".copy")
            rename(path + ".copy", path)
            let copy = try #require(try intactLog(from: path, limits: limits))
            #expect(copy.epoch != log.epoch && copy.isOutdated && copy.records == log.records(after: 0))
            // Once an agent has continued it, the copy is the log.
            let continued = try ChangeLogFile(
                continuing: copy, epoch: copy.epoch, sizeLimit: 1 << 20)
            try continued.close()
            let again = try #require(try intactLog(from: path, limits: limits))
            #expect(again.epoch == copy.epoch && !again.isOutdated)
        }
    }

    @Test("A log that can't be read now isn't taken for damaged or missing")
    func unreadable() throws {
        try withTemporaryDirectory { directory in
            let (log, marks) = sample()
            _ = try ChangeLogFile.create(
                at: directory + "/log", log: log, marks: marks.map { .mark($0) }, sizeLimit: 1 << 20)
            // Too many symbolic links are one reason for a failure, for any user.
            symlink("loop", directory + "/loop")
            #expect(throws: SystemCall.Failure(number: ELOOP)) {
                try RecoveredLog.read(from: directory + "/loop", limits: limits)
            }
            guard case .missing = try RecoveredLog.read(from: directory + "/none", limits: limits) else {
                Issue.record("A missing file must be known to be missing.")
                return
            }
        }
    }

    @Test("A log file whose last revision has no successor is rejected without a crash")
    func lastRevision() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let log = ChangeLog(epoch: Epoch(value: 1), head: .max - 1)
            let file = try ChangeLogFile.create(at: path, log: log, marks: [], sizeLimit: 1)
            let last = LogRecord(revision: .max, time: Timestamp(nanoseconds: 0), event: .unknown(domain))
            try file.append([.record(last), .record(last)])
            #expect(try intactLog(from: path, limits: limits) == nil)
        }
    }

    @Test(
        "A rewritten file holds exactly what the log holds, regardless of the old file's contents",
        arguments: [0, 1, 7, 12, 13, 20], [0, 3, 20])
    func copying(inFile: Int64, notInFile: Int64) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            var log = ChangeLog(capacity: ChangeLog.Capacity(records: 12))
            log.count(domain, 1...5)
            let marks = sample().marks.map { LogEntry.mark($0) }
            var file = try ChangeLogFile.create(at: path, log: log, marks: marks, sizeLimit: 1 << 20)
            for number in 0..<inFile {
                let start = log.head
                log.count(domain, number...number)
                try file.append(log.records(after: start)?.map { .record($0) } ?? [])
                try file.append([.mark(FileMark(domain: domain, hash: nil, revision: log.head))])
            }
            for number in 0..<notInFile { log.count(domain, number...number) }
            let mark = FileMark(domain: domain, hash: ContentHash(value: 1), revision: log.head)
            // Twice, because copied records can be copied again.
            for _ in 0..<2 { file = try file.replaced(log: log, marks: [.mark(mark)]) }
            let recovered = try #require(try intactLog(from: path, limits: limits))
            #expect(recovered.epoch == log.epoch)
            #expect(recovered.head == log.head)
            #expect(recovered.records == log.records(after: log.oldest - 1))
            #expect(recovered.marks == [domain: [mark]])
        }
    }

    @Test(
        "A file that another program truncated or extended is rewritten from memory",
        arguments: [100, 10_000])
    func cutOff(size: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            var log = ChangeLog()
            log.count(domain, 1...5)
            let file = try ChangeLogFile.create(at: path, log: log, marks: [], sizeLimit: 1)
            truncate(path, off_t(size))
            log.count(domain, 6...6)
            try file.append(log.records(after: 5)?.map { .record($0) } ?? [])
            _ = try file.replaced(log: log, marks: [])
            #expect(try intactLog(from: path, limits: limits)?.records == log.records(after: 0))
        }
    }

    @Test("A file that has grown too large is rewritten with only what the log keeps")
    func rewriting() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            var log = ChangeLog(capacity: ChangeLog.Capacity(records: 10))
            var file = try ChangeLogFile.create(at: path, log: log, marks: [], sizeLimit: 20_000)
            var number = Int64(0)
            while !file.isOversized {
                number += 1
                log.count(domain, number...number)
                try file.append(log.records(after: log.head - 1)?.map { .record($0) } ?? [])
            }
            #expect(try RawFile.read(path).count > 20_000)
            let mark = FileMark(domain: domain, hash: nil, revision: log.head)
            file = try file.replaced(log: log, marks: [.mark(mark)])
            #expect(!file.isOversized)
            #expect(try RawFile.read(path).count < 5_000)
            log.count(domain, number + 1...number + 1)
            try file.append(log.records(after: log.head - 1)?.map { .record($0) } ?? [])
            let recovered = try #require(try intactLog(from: path, limits: limits))
            #expect(recovered.head == log.head)
            #expect(recovered.records.count == 11)
            #expect(recovered.marks == [domain: [mark]])
            #expect(namesOfFiles(in: directory) == ["log"])
        }
    }

    @Test("A log from an earlier boot continues with all its records under a new epoch, as its end may be lost")
    func anotherBoot() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            let (log, marks) = sample()
            _ = try ChangeLogFile.create(at: path, log: log, marks: marks.map { .mark($0) }, sizeLimit: 1 << 20)
            let same = try #require(try intactLog(from: path, limits: limits))
            #expect(same.epoch == log.epoch)
            let other = try #require(try intactLog(from: path, limits: limits, boot: ContentHash(value: 1)))
            #expect(other.epoch != log.epoch)
            #expect(other.head == same.head)
            #expect(other.records == same.records)
            #expect(other.marks == same.marks)
        }
    }

    @Test("A value that holds the bytes of an entry isn't taken for one if its own entry is damaged")
    func embedded() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            var (log, other) = (ChangeLog(), ChangeLog())
            other.count(domain, 1...5)
            let inner = try #require(other.records(after: 4)?.first)
            let bytes = LogEntry.record(inner).encoded
            log.append(.change(domain, "data", from: nil, to: .data(bytes)), at: Timestamp(nanoseconds: 1))
            log.count(domain, 1...1)
            _ = try ChangeLogFile.create(at: path, log: log, marks: [], sizeLimit: 1)
            var damaged = try RawFile.read(path)
            damaged[ChangeLogHeader.size + LogEntry.prefixSize] ^= 1
            try RawFile.write(damaged, to: path)
            let recovered = try #require(try RecoveredLog.read(from: path).log)
            #expect(recovered.isDamaged && recovered.records.map(\.revision) == [2])
        }
    }

    @Test("A forged header or mark with the largest possible number is rejected")
    func forged() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log"
            _ = try ChangeLogFile.create(at: path, log: ChangeLog(), marks: [], sizeLimit: 1 << 20)
            var bytes = try RawFile.read(path)
            let position = Array("defaultsd log 3\n".utf8).count
            for index in 0..<8 { bytes[position + 8 + index] = 0xFF }
            let hash = ContentHash(Array(bytes[..<(bytes.count - 8)])).value
            bytes.replaceSubrange((bytes.count - 8)..., with: Frame.bigEndian(hash))
            try RawFile.write(bytes, to: path)
            #expect(try intactLog(from: path, limits: limits) == nil)

            let edit = Edit(value: 1, time: Timestamp(nanoseconds: 1), writer: .agent, sequence: .max)
            let mark = FileMark(domain: domain, hash: nil, revision: 0, pending: ["a": edit])
            #expect(throws: DefaultsError.self) { try FileMark(Fields(mark.fields)) }
        }
    }

    @Test("A directory in the way of a temporary file is skipped, and a crash's leftover file is removed")
    func squatted() throws {
        try withStoreFixture { fixture in
            try RawFile.makeDirectory(fixture.logPath + ".new")
            try RawFile.write("left", to: fixture.logPath + ".new-1")
            let store = try fixture.storeWithLog()
            #expect(store.journal?.problem == nil)
            #expect(!RawFile.exists(fixture.logPath + ".new-1"))
        }
    }

    @Test("A client never sees a cursor whose record isn't in the log file yet")
    func writtenBeforeTold() throws {
        try withStoreFixture { fixture in
            let tellers: [(String, (Store) -> Revision)] = [
                ("cursor", { $0.cursor.revision }),
                ("values", { $0.snapshot(of: fixture.domain).cursor.revision }),
                ("subscribed", { $0.subscribe(.now, filter: .init(), mode: .everything).revision }),
                ("domains", { $0.snapshots().map(\.cursor.revision).max() ?? 0 }),
            ]
            let store = try fixture.storeWithLog()
            for (name, tell) in tellers {
                // Another thread has made the transition, but hasn't written the log yet.
                store.state.withLock { state in
                    let request = EditRequest(domain: fixture.domain, values: [name: 1], writer: .testApp)
                    _ = state.edit(request, now: .now())
                }
                let told = tell(store)
                let recovered = try #require(try intactLog(from: fixture.logPath, limits: limits))
                #expect(told == recovered.head, "\(name)")
            }
        }
    }
}

extension ChangeLogFile {
    /// Replaces the file with a new version, as the store does when the file has grown too large.
    fileprivate func replaced(log: ChangeLog, marks: [LogEntry]) throws -> ChangeLogFile {
        let contents = Contents(of: log, marks: marks, sizeLimit: 20_000, replacing: self)
        let new = try ChangeLogFile(drafting: contents, for: path)
        try new.copyEntries(of: self, after: contents.end)
        try new.replaceOld()
        return new
    }
}
