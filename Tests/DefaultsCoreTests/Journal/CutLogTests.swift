import CLinux
import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// After a power failure, the files are as they were saved, but only the beginning of the log may be there.
@Suite("Logs that have lost their end")
struct CutLogTests {
    /// An edit, with the revision of its record.
    private struct Made {
        var domain: Domain
        var values: Difference
        var identity: EditIdentity
        var revision: Revision
    }

    /// A directory whose agent was killed.
    private struct Past {
        let log: String
        /// Another name of the log's file.
        let original: String
        var domains: [Domain] = []
        var edits: [Made] = []
        /// The numbers of records between an edit that creates a file and the removal of the file.
        var removed: Range<Revision> = 0..<0
        /// The edits that weren't saved.
        var unsaved: [Made] = []
        var saved: [Domain: DomainValues] = [:]
        var cursor = Cursor(epoch: Epoch(value: 0), revision: 0)
        var whole: [UInt8] = []
        /// The position of each entry in the log.
        var entries: [Range<Int>] = []
        /// The position of each record in the log.
        var records: [Range<Int>] = []

        /// Puts the beginning of the log in its place.
        func cut(to length: Int, isPowerFailure: Bool) throws {
            for path in [log, archive] + DamagedCopies.paths(of: log) { unlink(path) }
            #expect(link(original, log) == 0)
            var bytes = whole
            if isPowerFailure, var header = ChangeLogHeader(whole) {
                header.boot = ContentHash(value: 1)
                bytes.replaceSubrange(..<ChangeLogHeader.size, with: header.encoded)
            }
            try RawFile.write(bytes[..<length], to: log)
            // After a power failure, an earlier version of the attribute may be on the disk, too.
            let size = Array("\(isPowerFailure ? length : whole.count)".utf8)
            let file = try FileDescriptor(opening: log, O_RDONLY)
            #expect(linux_set_attribute(file.number, "user.defaultsd.size", size, size.count) == 0)
        }

        var archive: String { LogLocation(log: log).archive }
    }

    /// Opens a store with its log, as an agent does.
    private func open(_ fixture: StoreFixture) throws -> Store {
        let journal = fixture.journal
        let earlier = try RecoveredHistory(at: journal.location, excluding: HistoryExclusions())
        let directory = PreferencesDirectory(path: fixture.directory)
        let store = Store(directory: directory, log: earlier.changeLog(ChangeLog.Capacity()), journal: journal)
        _ = try store.start(resuming: earlier.log)
        store.beginJournal(continuing: earlier.log)
        return store
    }

    /// Makes and saves edits of several domains, one of which is an undo, and then some that aren't saved.
    private func past(_ fixture: StoreFixture) throws -> Past {
        var past = Past(log: fixture.logPath, original: fixture.logPath + ".original")
        past.domains = try ["a", "b", "c", "d"].map { Domain(try DomainName("org.example.\($0)")) }
        let (a, b, c, d) = (past.domains[0], past.domains[1], past.domains[2], past.domains[3])
        let store = try open(fixture)
        func edit(_ domain: Domain, _ values: Difference, origin: Origin? = nil, isSaved: Bool = true) throws {
            let identity = EditIdentity(session: 1, number: UInt64(past.edits.count + 1))
            let cursor = try store.submit(
                EditRequest(domain: domain, values: values, writer: .testApp, identity: identity, origin: origin))
            let made = Made(domain: domain, values: values, identity: identity, revision: cursor.revision)
            past.edits.append(made)
            if isSaved { try store.save(domain) } else { past.unsaved.append(made) }
        }
        func path(_ domain: Domain) -> String { PreferencesDirectory(path: fixture.directory).path(of: domain) }
        try edit(a, ["k": 1, "x": 1])
        try edit(a, ["x": 2])
        try edit(b, ["y": 1, "z": 1])
        try edit(b, ["y": nil])
        try edit(c, ["gone": 1])
        unlink(path(c))
        _ = store.reload([c], losses: .believe)
        past.removed = (past.edits.last?.revision ?? 0)..<store.cursor.revision
        let undone = Origin(purpose: .undo(Cursor(epoch: store.cursor.epoch, revision: 2), UndoReach()))
        // The file is again as it was two saves ago.
        try edit(a, ["x": 1], origin: undone)
        letTimePass()
        try RawFile.replace(path(b), with: PropertyListValue.dictionary(["y": 5, "z": 1]).write(as: .xml))
        _ = store.reload([b], losses: .believe)
        try edit(b, ["y": nil])
        for domain in past.domains { past.saved[domain] = store.snapshot(of: domain).values }
        letTimePass()
        try edit(a, ["k": 2, "new": 1], isSaved: false)
        try edit(d, ["v": 1], isSaved: false)
        try edit(b, ["z": nil], isSaved: false)
        past.cursor = store.cursor
        past.whole = try RawFile.read(past.log)
        var reader = LogEntryReader(
            try FileDescriptor(opening: past.log, O_RDONLY), size: past.whole.count, from: ChangeLogHeader.size)
        while case .entry(let entry)? = try reader.next() { past.entries.append(entry.range) }
        past.records = try #require(try intactLog(from: past.log, limits: Frame.messageLimits)).ranges
        #expect(link(past.log, past.original) == 0)
        return past
    }

    @Test(
        "However much of its end a log has lost, no saved value is put back, and what is left of the edits is restored",
        arguments: [false, true])
    func cut(isPowerFailure: Bool) throws {
        try withStoreFixture { fixture in
            let past = try past(fixture)
            let lengths =
                [0, 9, ChangeLogHeader.size]
                + past.entries.flatMap { entry in
                    [1, 7, entry.count / 2, entry.count - 1, entry.count].map { entry.lowerBound + $0 }
                }
            for length in lengths.dropLast() {
                try past.cut(to: length, isPowerFailure: isPowerFailure)
                for start in 1...2 {
                    let store = try open(fixture)
                    try check(past, store, length, "cut at \(length), start \(start)", isPowerFailure)
                }
            }
        }
    }

    @Test("A log whose attributes can't be read now isn't taken for whole")
    func unreadableAttribute() throws {
        try withStoreFixture { fixture in
            _ = try fixture.storeWithLog()
            // With O_PATH, a descriptor only names the file.
            let name = try FileDescriptor(opening: fixture.logPath, 0o10_000_000)
            #expect(throws: SystemCall.Failure(number: EBADF)) { try ChangeLogFile.hasLostEnd(name) }
        }
    }

    private func check(
        _ past: Past, _ store: Store, _ length: Int, _ comment: Comment, _ isPowerFailure: Bool
    ) throws {
        let last = Revision(past.records.count { $0.upperBound <= length })
        var expected = past.saved
        for edit in past.unsaved where edit.revision <= last {
            for (key, value) in edit.values { expected[edit.domain]?[key] = value }
        }
        for domain in past.domains {
            let values = store.snapshot(of: domain).values
            // Nothing tells a file that was never saved from one whose save and removal the log has lost.
            if values == ["gone": 1], past.removed.contains(last) { continue }
            #expect(values == expected[domain], comment)
        }
        for edit in past.edits where edit.revision > last {
            #expect(!store.state.withLock { $0.appliedEdits.holds(edit.identity) }, comment)
        }
        let archive = try HistoryFile(reading: past.archive)
        let archived = archive?.records(before: .max).reversed() ?? []
        let edits = (archived + store.records).compactMap { $0.changeSet?.edit?.number }
        #expect(edits == past.edits.filter { $0.revision <= last }.map(\.identity.number), comment)
        var follower = store.subscribe(.after(past.cursor), filter: SubscriptionFilter(), mode: .everything)
        guard case .gap? = store.next(for: &follower).first else {
            Issue.record(comment)
            return
        }
        // If it isn't known that anything is missing, the numbers may be used again, under the new epoch.
        if isPowerFailure { return }
        #expect(store.cursor.revision >= past.cursor.revision, comment)
        #expect(archive?.thinned.hasAny(after: past.cursor.revision, SubscriptionFilter()) == true, comment)
    }
}
