import CLinux
import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The recovery of the history")
struct HistoryRecoveryTests {
    private let domain = Domain(.global)

    /// Runs a test with a location that has a fallback, as for the default directory.
    private func withLocation(_ body: (_ root: String, LogLocation, _ fallback: LogLocation) throws -> Void) throws {
        try withTemporaryDirectory { root in
            let environment = Environment(["HOME": root, "XDG_STATE_HOME": "\(root)/state", "XDG_RUNTIME_DIR": root])
            let directory = try PreferencesDirectory(option: nil, environment: environment)
            let address = try AgentAddress(option: nil, for: directory, environment: environment)
            let location = LogLocation(for: directory, socketAt: address.socketPath, environment: environment)
            let fallback = try #require(location.fallback)
            try location.makeDirectory()
            try fallback.makeDirectory()
            try body(root, location, fallback)
        }
    }

    /// Writes a log with the keys "<prefix>1", "<prefix>2" and so on, one in each change set.
    @discardableResult
    private func write(
        _ path: String, _ prefix: String, _ count: Int, from head: Revision = 0, at time: Int64,
        purpose: Origin.Purpose? = nil, pending: [String: Edit] = [:]
    ) throws -> ChangeLog {
        var log = ChangeLog(head: head)
        for number in 0..<count {
            let change = KeyChange(key: "\(prefix)\(number + 1)", old: nil, new: "x")
            var changeSet = ChangeSet(domain: domain, source: .testApp, changes: [change])
            changeSet.origin = number == count - 1 ? purpose.map { Origin(purpose: $0) } : nil
            log.append(.change(changeSet), at: Timestamp(nanoseconds: time + Int64(number)))
        }
        let mark = FileMark(domain: domain, hash: nil, revision: log.head, pending: pending)
        _ = try ChangeLogFile.create(at: path, log: log, marks: [.mark(mark)], sizeLimit: 1 << 20)
        return log
    }

    private func keys(_ records: some Sequence<LogRecord>) -> [String] {
        records.flatMap { $0.changeSet?.changes.map(\.key) ?? [] }
    }

    private func archived(_ location: LogLocation) throws -> [LogRecord] {
        try HistoryFile(reading: location.archive)?.records(before: .max).reversed() ?? []
    }

    @Test("The records of an agent that used the fallback follow those in the usual place, under new numbers")
    func fallback() throws {
        try withLocation { _, location, fallback in
            let edit = Edit(value: "x", time: Timestamp(nanoseconds: 1), writer: .testApp, sequence: 1)
            let first = try write(location.log, "a", 3, at: 0, pending: ["a3": edit, "b1": edit])
            let other = Cursor(epoch: Epoch(value: 7), revision: 12)
            let second = try write(
                fallback.log, "b", 3, from: 10, at: 100,
                purpose: .undo(other, UndoReach(oldest: ["b1": 11, "gone": 9], first: 12)), pending: ["b3": edit])
            var archive = HistoryArchive(path: fallback.archive)
            try archive.append([LogRecord(revision: 4, time: Timestamp(nanoseconds: 50), event: .recovered(domain))])

            let recovered = try RecoveredHistory(at: location, excluding: HistoryExclusions())
            let log = try #require(recovered.log)
            #expect(log.records.map(\.revision) == Array(1...7) && recovered.head == 7 && log.head == 7)
            #expect(keys(log.records) == ["a1", "a2", "a3", "b1", "b2", "b3"])
            #expect(log.epoch != first.epoch && log.epoch != second.epoch)
            #expect(log.marks[domain]?.map(\.revision) == [7])
            // An edit that the first agent hadn't saved stays unsaved, unless a later one has replaced it.
            #expect(log.marks[domain]?.first?.pending.keys.sorted() == ["a3", "b3"])
            let purpose = log.records.last?.changeSet?.origin?.purpose
            // The undone records have new numbers, or those of the next ones that are left.
            let reach = UndoReach(oldest: ["b1": 5, "gone": 5], first: 6)
            #expect(purpose == .undo(Cursor(epoch: other.epoch, revision: 6), reach))

            // If the agent keeps fewer records in memory, the others are in the archive.
            store(log, at: location)
            // A crash may have left more than the log and the archive.
            for left in ["log.new-1", "archive.new", "log.excludes", "log.excludes.new"] {
                try RawFile.write("", to: "\(fallback.log.dropLast(3))\(left)")
            }
            location.removeFallback()
            #expect(namesOfFiles(in: Path.directory(of: fallback.log)) == [])
            let again = try #require(try RecoveredHistory(at: location, excluding: HistoryExclusions()).log)
            #expect(try archived(location) + again.records == log.records && again.epoch == log.epoch)
        }
    }

    private func store(_ log: RecoveredLog, at location: LogLocation) {
        let store = Store(
            directory: PreferencesDirectory(path: "/nonexistent"),
            log: ChangeLog(
                capacity: ChangeLog.Capacity(records: 2), epoch: log.epoch, head: log.head, records: log.records),
            journal: Journal(at: location))
        store.beginJournal(continuing: log)
        #expect(store.journal?.problem == nil)
    }

    @Test("The records of an agent that used the fallback are kept if there is no log in the usual place")
    func onlyFallback() throws {
        try withLocation { _, location, fallback in
            try write(fallback.log, "b", 6, at: 0)
            var old = HistoryArchive(path: fallback.archive)
            try old.append([LogRecord(revision: 100, time: Timestamp(nanoseconds: 0), event: .recovered(domain))])
            let log = try #require(try RecoveredHistory(at: location, excluding: HistoryExclusions()).log)
            store(log, at: location)
            let records =
                try archived(location)
                + (try RecoveredHistory(at: location, excluding: HistoryExclusions()).log?.records ?? [])
            #expect(keys(records) == ["b1", "b2", "b3", "b4", "b5", "b6"])
            // If the usual archive has records, the numbers continue far behind them.
            unlink(location.log)
            let later = try #require(try RecoveredHistory(at: location, excluding: HistoryExclusions()).log)
            #expect(keys(later.records) == ["b1", "b2", "b3", "b4", "b5", "b6"])
            #expect(later.records.allSatisfy { $0.revision > 1_000_000 })
        }
    }

    @Test("A second agent with the same state directory has its journal beside the socket")
    func secondAgent() throws {
        try withLocation { _, location, fallback in
            let first = Journal.claim(location)
            let second = Journal.claim(location)
            #expect(first.warning == nil && first.journal.location == location)
            #expect(second.warning?.contains("XDG_STATE_HOME") == true && second.journal.location == fallback)
        }
    }

    @Test("A log that can't be locked for the moment is continued, since it may hold unsaved edits")
    func unlockable() throws {
        try withLocation { _, location, _ in
            let edit = Edit(value: "x", time: Timestamp(nanoseconds: 1), writer: .testApp, sequence: 1)
            try write(location.log, "a", 3, at: 0, pending: ["a3": edit])
            try RawFile.makeDirectory(location.log + ".lock")
            let (journal, warning) = Journal.claim(location)
            #expect(journal.location == location && warning?.contains("can't be locked") == true)
            let log = try #require(try RecoveredHistory(at: location, excluding: HistoryExclusions()).log)
            let store = Store(
                directory: PreferencesDirectory(path: "/nonexistent"),
                log: ChangeLog(epoch: log.epoch, head: log.head, records: log.records), journal: journal)
            store.beginJournal(continuing: log)
            #expect(journal.problem != nil)
            rmdir(location.log + ".lock")
            store.maintainJournal(HistoryLimits())
            #expect(journal.problem == nil && RawFile.exists(location.log + ".lock"))
            let again = try #require(try RecoveredHistory(at: location, excluding: HistoryExclusions()).log)
            #expect(keys(again.records) == ["a1", "a2", "a3"])
        }
    }

    @Test("The records that an agent kept in the fallback are in the history even if the usual log is damaged")
    func fallbackOfDamaged() throws {
        try withLocation { _, location, fallback in
            try write(location.log, "a", 3, at: 0)
            try write(fallback.log, "b", 2, at: 10)
            var damaged = try RawFile.read(location.log)
            damaged[ChangeLogHeader.size + LogEntry.prefixSize] ^= 1
            try RawFile.write(damaged, to: location.log)
            let recovered = try RecoveredHistory(at: location, excluding: HistoryExclusions())
            let log = try #require(recovered.log)
            #expect(log.isDamaged && recovered.hasWholeFallback && recovered.changeLog(.init()).oldest == log.head + 1)
            store(log, at: location)
            #expect(keys(try archived(location)) == ["a2", "a3", "b1", "b2"])
        }
    }

    @Test("A log in the fallback is added once, whatever the clocks say, and later only what it has gained")
    func addedOnce() throws {
        try withLocation { _, location, fallback in
            // A clock was ahead when the usual log was written.
            try write(location.log, "a", 3, at: 1 << 60)
            let log = try write(fallback.log, "b", 2, at: 0)
            for _ in 0..<3 {
                let recovered = try #require(try RecoveredHistory(at: location, excluding: HistoryExclusions()).log)
                store(recovered, at: location)
                let again = try #require(try RecoveredHistory(at: location, excluding: HistoryExclusions()).log)
                #expect(keys(try archived(location) + again.records) == ["a1", "a2", "a3", "b1", "b2"])
                #expect(again.epoch == recovered.epoch)
            }
            let earlier = try #require(try intactLog(from: fallback.log, limits: PropertyListLimits()))
            let file = try ChangeLogFile(
                continuing: earlier, epoch: log.epoch, sizeLimit: 1 << 20)
            var longer = log
            longer.append(.recovered(domain), at: Timestamp(nanoseconds: 9))
            try file.append(longer.records(after: log.head)?.map { .record($0) } ?? [])
            let last = try #require(try RecoveredHistory(at: location, excluding: HistoryExclusions()).log)
            #expect(last.records.last?.event == .recovered(domain) && last.head == 6)
        }
    }

    @Test("The intact records of a log that is damaged at any byte are in the archive, and the numbers skip ahead")
    func damaged() throws {
        try withLocation { root, location, _ in
            try write(location.log, "key", 4, at: 0)
            let bytes = try RawFile.read(location.log)
            for position in stride(from: 0, to: bytes.count, by: 7) {
                var damaged = Array(bytes)
                damaged[position] ^= 0x10
                try RawFile.write(damaged, to: location.log)
                chmod(location.log, 0o600)
                unlink(location.archive)
                let recovered = try RecoveredHistory(at: location, excluding: HistoryExclusions(["*/key2"]))
                let isIntact = recovered.log?.isDamaged == false
                let found = keys(try archived(location) + (isIntact ? recovered.log?.records ?? [] : []))
                let expected = ["key1", "key2", "key3", "key4"].filter { isIntact || $0 != "key2" }
                #expect(found == expected.filter(found.contains), "byte \(position)")
                #expect(found.count >= expected.count - 1, "byte \(position): more than the damaged record is missing")
                if !isIntact {
                    #expect(!found.contains("key2"), "byte \(position): an excluded key is in the archive")
                    #expect(recovered.warnings.count == 1 && RawFile.exists(location.log + ".damaged-1"))
                    #expect(found.isEmpty || recovered.head > 1_000_000, "byte \(position)")
                }
                for copy in Path.numbered(location.log + ".damaged-") { unlink(copy) }
            }
        }
    }

    @Test("Files of the history that others can read are made private again, which is reported")
    func exposed() throws {
        try withLocation { _, location, fallback in
            for path in [location.log, fallback.log] { try write(path, "key", 1, at: 0) }
            var archive = HistoryArchive(path: location.archive)
            try archive.append([LogRecord(revision: 1, time: Timestamp(nanoseconds: 0), event: .recovered(domain))])
            let copies = [location.log, location.archive, fallback.log].map { $0 + ".damaged-1" }
            let paths = [location.log, location.archive, fallback.log, location.log + ".excludes"] + copies
            for path in paths.dropFirst(3) { try RawFile.write("x", to: path) }
            for path in paths { #expect(chmod(path, 0o644) == 0) }
            let warnings = try RecoveredHistory(at: location, excluding: HistoryExclusions()).warnings
            for path in paths {
                let report = "Other users could access \(path), whose mode was 644. Its mode is 600 again."
                #expect(warnings.contains(report), "\(warnings)")
                #expect(try RawFile.status(path).st_mode & 0o7777 == 0o600)
            }
            #expect(try RecoveredHistory(at: location, excluding: HistoryExclusions()).warnings.isEmpty)
        }
    }

    @Test("A damaged log whose intact records can't be archived is set aside, and archived as soon as possible")
    func unarchived() throws {
        try withLocation { _, location, _ in
            try write(location.log, "key", 4, at: 0)
            var damaged = try RawFile.read(location.log)
            damaged[ChangeLogHeader.size + LogEntry.prefixSize] ^= 1
            try RawFile.makeDirectory(location.archive)
            func recover() throws -> [String] {
                try RawFile.write(damaged, to: location.log)
                chmod(location.log, 0o600)
                return try RecoveredHistory(at: location, excluding: HistoryExclusions()).warnings
            }
            for number in 1...5 {
                let warnings = try recover()
                // Those that were set aside before are tried again.
                let earlier = min(number - 1, 3)
                #expect(warnings.prefix(earlier).allSatisfy { $0.contains("still aren't in the history") })
                #expect(warnings.dropFirst(earlier).first?.contains("\(location.log).unarchived-\(number).") == true)
                // The loss of the first record can't be recorded, either.
                #expect(warnings.count == earlier + 2)
                #expect(warnings.last?.contains("\(location.archive) can't be written") == true)
            }
            func names() -> [String] {
                DamagedCopies.paths(of: location.log).map { String($0.dropFirst(location.log.count)) }
            }
            #expect(names() == [".unarchived-3", ".unarchived-4", ".unarchived-5"])
            rmdir(location.archive)
            let recovered = try RecoveredHistory(at: location, excluding: HistoryExclusions(["*/key2"]))
            #expect(recovered.log == nil && recovered.head > 1_000_000)
            #expect(keys(try archived(location)) == ["key3", "key4"])
            #expect(names() == [".damaged-1", ".damaged-2", ".damaged-3"])
            #expect(recovered.warnings.count { $0.contains("are in the history now") } == 3, "\(recovered.warnings)")
        }
    }

    @Test("A log set aside that the archive has passed, or that can't be read, keeps no other from being archived")
    func passed() throws {
        try withLocation { _, location, fallback in
            let unreadable = location.log + ".unarchived-1"
            symlink(unreadable, unreadable)
            for number in 2...3 { try write(location.log + ".unarchived-\(number)", "a", number == 2 ? 2 : 6, at: 0) }
            var archive = HistoryArchive(path: location.archive)
            try archive.append([LogRecord(revision: 4, time: Timestamp(nanoseconds: 0), event: .recovered(domain))])
            // An agent that used the fallback couldn't archive a log there, either.
            try write(fallback.log + ".unarchived-1", "b", 2, at: 100)
            try write(fallback.log, "c", 2, from: 10, at: 200)
            let recovered = try RecoveredHistory(at: location, excluding: HistoryExclusions())
            let outcomes = [
                "still aren't in the history", "can't be added to the history anymore", "are in the history now",
                "are in the history now",
            ]
            #expect(zip(recovered.warnings, outcomes).allSatisfy { $0.contains($1) }, "\(recovered.warnings)")
            #expect(recovered.warnings.count == outcomes.count)
            #expect(keys(try archived(location)) == ["a5", "a6"])
            #expect(keys(recovered.log?.records ?? []) == ["b1", "b2", "c1", "c2"])
            #expect(DamagedCopies.unarchivedPaths(of: location.log) == [unreadable])
            #expect(DamagedCopies.unarchivedPaths(of: fallback.log).isEmpty)
            // The others aren't read again.
            #expect(try RecoveredHistory(at: location, excluding: HistoryExclusions()).warnings.count == 1)
        }
    }

    @Test("A log that continued without its file gets a new epoch, and an older edit doesn't replace a later save")
    func outdated() throws {
        try withStoreFixture { fixture in
            for isSaved in [false, true] {
                unlink(fixture.path)
                unlink(fixture.logPath)
                try fixture.writeLater(["a": 0])
                let first = try fixture.storeWithLog()
                letTimePass()
                fixture.edit(first, ["a": 1])
                #expect(ChangeLogHeader.markOutdated(fixture.logPath))
                // The edit is saved, and then the value is set back, neither of which is in the log.
                if isSaved { try fixture.writeLater(["a": 0]) }
                let recovered = try #require(
                    try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
                #expect(recovered.isOutdated && recovered.epoch != first.cursor.epoch)
                #expect(recovered.records.count == 1, "The history stays.")
                let second = try fixture.resumedStore()
                #expect(fixture.values(second) == (isSaved ? ["a": 0] : ["a": 1]))
                let again = try #require(try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
                #expect(!again.isOutdated && again.epoch == second.cursor.epoch)
            }
        }
    }

    /// The past of a log with an unsaved edit, after which only the mode of the domain's file was changed.
    private enum Past: CaseIterable {
        /// The log's owner was changed, too.
        case otherOwner
        /// The power failed.
        case powerFailure
        /// The power failed, and the end of the log wasn't on the disk, but the attribute with its size was.
        case lostEnd
    }

    private func failPower(_ fixture: StoreFixture) throws {
        var header = try #require(ChangeLogHeader(try RawFile.read(fixture.logPath)))
        header.boot = ContentHash(value: 1)
        try header.write(to: fixture.logPath)
    }

    @Test(
        "If only the owner or the mode of the log or of a file has changed, no unsaved edit is lost",
        arguments: Past.allCases)
    private func changedStatus(past: Past) throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 0; }", to: fixture.path)
            letTimePass()
            fixture.edit(try fixture.storeWithLog(), ["a": 1])
            letTimePass()
            switch past {
            case .otherOwner:
                // As after `chown -R`, an hour after the last write.
                let hourAgo = timespec(tv_sec: try RawFile.status(fixture.logPath).st_mtim.tv_sec - 3600, tv_nsec: 0)
                #expect(utimensat(AT_FDCWD, fixture.logPath, [hourAgo, hourAgo], 0) == 0)
            case .powerFailure: try failPower(fixture)
            case .lostEnd:
                try failPower(fixture)
                let file = try FileDescriptor(opening: fixture.logPath, O_RDONLY)
                let size = Array("\(try file.status().st_size + 100)".utf8)
                #expect(linux_set_attribute(file.number, "user.defaultsd.size", size, size.count) == 0)
            }
            #expect(chmod(fixture.path, 0o600) == 0)
            let earlier = try RecoveredHistory(at: LogLocation(log: fixture.logPath), excluding: HistoryExclusions())
            #expect((earlier.log?.isDamaged == true) == (past == .lostEnd))
            let store = fixture.store()
            _ = try store.start(resuming: earlier.log)
            #expect(fixture.values(store) == ["a": 1])
        }
    }

    @Test("After a power failure, an edit doesn't replace a later save in the same tick of the file system's clock")
    func sameTick() throws {
        try withStoreFixture { fixture in
            try fixture.writeLater(["a": 0])
            let first = try fixture.storeWithLog()
            letTimePass()
            fixture.edit(first, ["a": 1])
            // The edit is saved, and then the value is set back, neither of which is in the log.
            try fixture.writeLater(["a": 0])
            let time = try #require(first.records.last).time.nanoseconds - 1_000_000
            let modified = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
            #expect(utimensat(AT_FDCWD, fixture.path, [modified, modified], 0) == 0)
            try failPower(fixture)
            #expect(fixture.values(try fixture.resumedStore()) == ["a": 0])
        }
    }

    @Test("While entries are appended, a new version of the log file loses none of them")
    func concurrentReplacement() throws {
        try withStoreFixture { fixture in
            let log = ChangeLog(capacity: ChangeLog.Capacity(records: 100))
            let store = Store(
                directory: PreferencesDirectory(path: fixture.directory), log: log, journal: fixture.journal)
            let archive = fixture.directory + ".archive"
            defer { unlink(archive) }
            store.beginJournal(sizeLimit: 16_384)
            _ = try store.start(resuming: nil)
            withBackgroundThread { mayGoOn in
                while mayGoOn() { store.maintainJournal(HistoryLimits()) }
            } while: {
                for number in 0..<5_000 { fixture.edit(store, ["key": .integer(Int64(number))]) }
            }
            let recovered = try #require(try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
            #expect(recovered.head == 5_000 && recovered.first > 1)
            let older = try HistoryFile(reading: archive)?.records(before: recovered.first).map(\.revision) ?? []
            #expect(older.reversed() + recovered.records.map(\.revision) == Array(1...5_000))
        }
    }
}
