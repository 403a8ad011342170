import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The log's lock, and a log that is removed or replaced")
struct LogLockTests {
    /// Runs a test with a store whose log is in a directory of its own, and has lost some records to the archive.
    private func withStore(_ body: (StoreFixture, Store, _ state: String) throws -> Void) throws {
        try withStoreFixture { fixture in
            let state = fixture.directory + ".state/defaultsd"
            let log = ChangeLog(capacity: ChangeLog.Capacity(records: 5))
            let location = LogLocation(log: state + "/h.log")
            try location.makeDirectory()
            let store = Store(
                directory: PreferencesDirectory(path: fixture.directory), log: log,
                journal: Journal(at: location, lock: try location.lock()))
            store.beginJournal()
            _ = try store.start(resuming: nil)
            for number in 1...9 { fixture.edit(store, ["n": .integer(Int64(number))]) }
            try body(fixture, store, state)
        }
    }

    /// Returns whether an agent has locked the log.
    private func isLocked(_ state: String) throws -> Bool {
        let lock = try LogLocation(log: state + "/h.log").lock()
        return lock == nil
    }

    /// Returns the values in the history on disk, oldest first.
    private func history(_ state: String) throws -> [PropertyListValue?] {
        let log = try #require(try intactLog(from: state + "/h.log", limits: PropertyListLimits()))
        let archived = try HistoryFile(reading: state + "/h.archive")?.records(before: log.first).reversed() ?? []
        return (archived + log.records).flatMap { $0.changeSet?.changes.map(\.new) ?? [] }
    }

    @Test("A second agent can't lock the same log, until the first one has closed it")
    func exclusive() throws {
        try withStore { _, store, state in
            let isLocked = try isLocked(state)
            store.closeJournal()
            let isLockedLater = try self.isLocked(state)
            #expect(isLocked && !isLockedLater)
        }
    }

    @Test("Looking for a lock keeps no other process out, even while a child has the file open")
    func looking() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/lock"
            try RawFile.write("", to: path)
            let file = try FileDescriptor(opening: path, O_RDONLY)
            let other = try FileDescriptor(opening: path, O_RDONLY)
            let isLocked = LockFile.isLocked(file)
            let status = flock(other.number, LOCK_EX | LOCK_NB)
            let isLockedByOther = LockFile.isLocked(file)
            #expect(!isLocked && status == 0 && isLockedByOther)
        }
    }

    @Test("A log that is removed with its directory is written again, with everything", arguments: [true, false])
    func removed(isClosed: Bool) throws {
        try withStore { fixture, store, state in
            removeTree(fixture.directory + ".state")
            fixture.edit(store, ["n": 10])
            store.checkJournal()
            #expect(store.journal?.needsMaintenance == true)
            if isClosed { store.closeJournal() } else { store.maintainJournal(HistoryLimits()) }
            let found = try history(state)
            #expect(found == (1...10).map { .integer($0) })
            if isClosed { return }
            #expect(store.journal?.needsMaintenance == false)
            let isLocked = try isLocked(state)
            #expect(isLocked)
            fixture.edit(store, ["n": 11])
            let last = try history(state).last
            #expect(last == 11)
        }
    }

    @Test("A log that a copy has replaced is written again, and the copy is set aside")
    func replaced() throws {
        try withStore { fixture, store, state in
            let bytes = try RawFile.read(state + "/h.log")
            try RawFile.write(bytes, to: state + "/copy")
            rename(state + "/copy", state + "/h.log")
            fixture.edit(store, ["n": 10])
            store.checkJournal()
            store.maintainJournal(HistoryLimits())
            let found = try history(state)
            #expect(found == (1...10).map { .integer($0) })
            let copy = try RawFile.read(state + "/h.log.damaged-1")
            #expect(copy == bytes)
        }
    }

    @Test("A log that is emptied, cut or extended in place is written again from memory", arguments: [0, 300, 100_000])
    func cut(size: Int) throws {
        try withStore { fixture, store, state in
            #expect(truncate(state + "/h.log", off_t(size)) == 0)
            fixture.edit(store, ["n": 10])
            store.checkJournal()
            #expect(store.journal?.needsMaintenance == true)
            store.maintainJournal(HistoryLimits())
            #expect(store.journal?.needsMaintenance == false)
            fixture.edit(store, ["n": 11])
            let found = try history(state)
            #expect(found == (6...11).map { .integer($0) })
            // The first records were only in the file.
            let thinned = try HistoryFile(reading: state + "/h.archive")?.thinned
            #expect(thinned?.hasAny(after: 4, SubscriptionFilter()) == true)
            #expect(thinned?.hasAny(after: 5, SubscriptionFilter()) == false)
        }
    }

    @Test("Unsaved edits in a log that was cut survive a crash, even if the log couldn't be written again")
    func crashAfterCut() throws {
        try withStore { fixture, store, state in
            #expect(truncate(state + "/h.log", 300) == 0)
            // The loss can't be recorded.
            try RawFile.makeDirectory(state + "/h.archive")
            fixture.edit(store, ["n": 10])
            store.maintainJournal(HistoryLimits())
            #expect(store.journal?.archiveProblem != nil && store.journal?.needsMaintenance == true)
            fixture.edit(store, ["n": 11])
            let earlier = try RecoveredHistory(at: LogLocation(log: state + "/h.log"), excluding: HistoryExclusions())
            let next = Store(
                directory: PreferencesDirectory(path: fixture.directory),
                log: earlier.changeLog(ChangeLog.Capacity()))
            _ = try next.start(resuming: earlier.log)
            #expect(fixture.values(next) == ["n": 11])
        }
    }

    @Test("At most three copies of a damaged file are kept, the newest ones")
    func copies() throws {
        try withTemporaryDirectory { directory in
            for number in 1...12 {
                let path = DamagedCopies.nextPath(of: directory + "/log")
                #expect(path == directory + "/log.damaged-\(number)")
                try RawFile.write("\(number)", to: path)
            }
            let numbers = DamagedCopies.paths(of: directory + "/log").map { $0.split(separator: "-").last ?? "" }
            #expect(numbers == ["10", "11", "12"])
        }
    }
}
