import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The history")
struct HistoryTests {
    private static let day: Int64 = 86_400_000_000_000

    private static func record(
        _ revision: Revision, _ key: String, _ value: PropertyListValue, at time: Int64 = 0, in domain: String = "a.b"
    ) throws -> LogRecord {
        let changes = [KeyChange(key: key, old: nil, new: value)]
        let changeSet = ChangeSet(domain: Domain(try DomainName(domain)), source: .file, changes: changes)
        return LogRecord(revision: revision, time: Timestamp(nanoseconds: time), event: .change(changeSet))
    }

    private static func keys(_ file: HistoryFile?) throws -> [String] {
        try #require(file).records(before: .max).reversed().flatMap { record in
            guard case .change(let changeSet) = record.event else { return ["?"] }
            return changeSet.changes.map(\.key)
        }
    }

    @Test("The records that the change log file loses are in the archive, each once, and the rest in the log")
    func overflow() throws {
        try withStoreFixture { fixture in
            let log = ChangeLog(capacity: ChangeLog.Capacity(records: 20))
            let store = Store(
                directory: PreferencesDirectory(path: fixture.directory), log: log, journal: fixture.journal)
            let archive = fixture.directory + ".archive"
            defer { unlink(archive) }
            store.beginJournal(sizeLimit: 8_192)
            _ = try store.start(resuming: nil)
            for number in 0..<500 {
                fixture.edit(store, ["key": .integer(Int64(number))])
                if number % 50 == 0 { store.maintainJournal(HistoryLimits()) }
            }
            var revisions: [Revision] = []
            var request = HistoryRequest(limit: 7)
            while true {
                let page = try store.history(request)
                revisions += page.records.map(\.revision)
                request.before = page.next
                if page.isEnd { break }
            }
            let inLog = revisions.count
            #expect(inLog == 20)
            let file = try #require(try HistoryFile(reading: archive))
            revisions += file.records(before: request.before?.revision ?? 0).map(\.revision)
            // The archive ends where the file last lost records; the file still has those between.
            let recovered = try #require(try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
            let first = try #require(recovered.records.first?.revision)
            #expect(file.newestRevision == first - 1)
            #expect(Array(revisions.dropFirst(inLog)) == Array((1..<first).reversed()))
            #expect(try RawFile.status(archive).st_mode & 0o7777 == 0o600)
        }
    }

    @Test(
        "A closed log keeps its epoch over a reboot, and one that wasn't closed gets a new one",
        arguments: [true, false])
    func reboot(isClosed: Bool) throws {
        try withStoreFixture { fixture in
            let store = try fixture.storeWithLog()
            fixture.edit(store, ["key": 1])
            if isClosed { store.closeJournal() }
            let recovered = try #require(
                try intactLog(
                    from: fixture.logPath, limits: PropertyListLimits(), boot: ContentHash(Array("other".utf8))))
            #expect(recovered.records.count == 1)
            #expect((recovered.epoch == store.cursor.epoch) == isClosed)
        }
    }

    @Test("Thinning keeps recent changes and the last ones of each key, and a busy key can't push others out")
    func thinning() throws {
        try withTemporaryDirectory { directory in
            var archive = HistoryArchive(path: directory + "/archive")
            var records: [LogRecord] = []
            for number in 0..<300 {
                let time = number < 200 ? Int64(number) : 50 * Self.day + Int64(number)
                records.append(try Self.record(UInt64(number) + 1, "busy", .integer(Int64(number)), at: time))
            }
            for (number, key) in ["quiet", "rare"].enumerated() {
                records.insert(try Self.record(0, key, "x", at: Int64(number)), at: 0)
            }
            records = records.enumerated().map {
                LogRecord(revision: UInt64($0) + 1, time: $1.time, event: $1.event)
            }
            // A record that was archived twice is kept once.
            try archive.append(records + records.suffix(1))
            var thinning = HistoryLimits()
            let now = Timestamp(nanoseconds: 60 * Self.day)
            func kept() throws -> [String] {
                let file = try #require(try HistoryFile(reading: archive.path))
                let path = directory + "/thin"
                let bytes = thinning.thin(file, without: HistoryExclusions(), now: now)
                #expect(bytes.count <= thinning.bytes + HistoryArchive.magic.count)
                try RawFile.write(bytes, to: path)
                return try Self.keys(try HistoryFile(reading: path))
            }
            thinning.changes = 150
            #expect(try kept().count { $0 == "busy" } == 150)
            thinning.changes = 10
            #expect(try kept().count { $0 == "busy" } == 100, "The last ten days have a hundred changes.")
            thinning.bytes = 2_000
            let few = try kept()
            #expect(few.count { $0 == "busy" } < 15)
            #expect(few.contains("quiet") && few.contains("rare") && few.last == "busy")
            #expect(HistoryLimits.share(of: [10, 1_000, 20], within: 100) == 70)
            #expect(HistoryLimits.share(of: [10, 20], within: 100) == .max)
        }
    }

    @Test("An archive stays within its limit even if the last changes to all keys don't fit, and loses the oldest")
    func limit() throws {
        try withTemporaryDirectory { directory in
            var archive = HistoryArchive(path: directory + "/archive")
            let records = try (1...200).map { number in
                try Self.record(Revision(number), "key\(number)", "x", at: Int64(number), in: "a.b\(number % 7)")
            }
            try archive.append(records)
            var thinning = HistoryLimits()
            thinning.bytes = 5_000
            try archive.thin(thinning, without: HistoryExclusions(), now: .now())
            #expect(try RawFile.read(archive.path).count <= 5_000 + HistoryArchive.magic.count)
            let kept = try Self.keys(try HistoryFile(reading: archive.path))
            #expect(kept.count > 5 && kept == (201 - kept.count...200).map { "key\($0)" })
        }
    }

    @Test("A dropped change that no agent saw may have been to any key, unlike a dropped problem")
    func lostUnknown() throws {
        for event in [
            LogRecord.Event.unknown(Domain(try DomainName("a.b"))), .recovered(Domain(try DomainName("a.b"))),
        ] {
            try withTemporaryDirectory { directory in
                var archive = HistoryArchive(path: directory + "/archive")
                try archive.append([
                    Self.record(1, "k", 1, at: 0),
                    LogRecord(revision: 2, time: Timestamp(nanoseconds: 0), event: event),
                    LogRecord(
                        revision: 3, time: Timestamp(nanoseconds: 0), event: .damaged(event.domain, reason: "torn")),
                    LogRecord(revision: 4, time: Timestamp(nanoseconds: 0), event: .recovered(event.domain)),
                ])
                var thinning = HistoryLimits()
                thinning.changes = 2
                try archive.thin(thinning, without: HistoryExclusions(), now: .now())
                let file = try #require(try HistoryFile(reading: archive.path))
                #expect(file.count == 3)
                let isUnknown = event == .unknown(event.domain)
                #expect(
                    file.thinned.keys(in: event.domain, after: 1, among: ["k", "m"]) == (isUnknown ? ["k", "m"] : []))
                #expect(file.thinned.keys(in: event.domain, after: 2, among: ["k", "m"]) == [])
            }
        }
    }

    @Test("A thinned archive tells which key has lost a change, and when, even if it is thinned again")
    func lost() throws {
        try withTemporaryDirectory { directory in
            var archive = HistoryArchive(path: directory + "/archive")
            let domain = Domain(try DomainName("a.b"))
            func add(_ revisions: ClosedRange<Revision>) throws {
                try archive.append(
                    revisions.map { try Self.record($0, $0 % 10 == 0 ? "rare" : "busy", .integer(Int64($0)), at: 0) })
            }
            var thinning = HistoryLimits()
            thinning.changes = 5
            func lost(after revision: Revision) throws -> Set<String> {
                try archive.thin(thinning, without: HistoryExclusions(), now: .now())
                let thinned = try #require(try HistoryFile(reading: archive.path)?.thinned)
                return thinned.keys(in: domain, after: revision, among: [])
            }
            try add(1...20)
            #expect(try lost(after: 0) == ["busy"] && lost(after: 13) == ["busy"] && lost(after: 14) == [])
            try add(21...90)
            #expect(try lost(after: 40) == ["busy"], "The last five are 50, 60, 70, 80 and 90.")
            #expect(try lost(after: 39) == ["busy", "rare"] && lost(after: 83) == ["busy"] && lost(after: 84) == [])
            let others = SubscriptionFilter(domains: [GlobPattern("a.c")])
            #expect(try HistoryFile(reading: archive.path)?.thinned.hasAny(after: 0, others) == false)
            // Damage doesn't make the archive forget this.
            var bytes = try RawFile.read(archive.path)
            bytes[bytes.count - 1] ^= 1
            try RawFile.write(bytes, to: archive.path)
            var again = HistoryArchive(path: archive.path)
            try again.append([try Self.record(91, "rare", "x")])
            #expect(RawFile.exists(archive.path + ".damaged-1"))
            #expect(try lost(after: 39) == ["busy", "rare"])
            // The key of the damaged record is unknown.
            let file = try #require(try HistoryFile(reading: archive.path))
            #expect(file.thinned.keys(in: domain, after: 89, among: ["x"]) == ["x"])
            #expect(file.thinned.keys(in: domain, after: 90, among: ["x"]) == [])
        }
    }

    @Test("A note about all domains isn't forgotten when one of them is noted again")
    func noted() throws {
        var thinned = ThinnedChanges()
        let domains = [Domain(try DomainName("a.b")), Domain(try DomainName("c.d"))]
        for domain in domains { thinned.add(7, of: "key", in: domain) }
        _ = thinned.encode(within: 0)
        thinned.add(9, of: "other", in: domains[0])
        for domain in domains {
            #expect(thinned.keys(in: domain, after: 6, among: ["key"]).contains("key"))
            #expect(!thinned.keys(in: domain, after: 7, among: ["key"]).contains("key"))
        }
    }

    @Test("What an archive has lost of many keys is joined instead of exceeding the limit")
    func joined() throws {
        try withTemporaryDirectory { directory in
            var archive = HistoryArchive(path: directory + "/archive")
            try archive.append(
                try (1...2_000).map { try Self.record($0, "key \($0)", "x", at: 0, in: "a.b\($0 % 3)") })
            var thinning = HistoryLimits()
            for limit in [30_000, 8_000, 1_000] {
                thinning.bytes = limit
                try archive.thin(thinning, without: HistoryExclusions(), now: .now())
                #expect(try RawFile.read(archive.path).count <= limit + HistoryArchive.magic.count)
                let file = try #require(try HistoryFile(reading: archive.path))
                let oldest = try #require(file.records(before: .max).map(\.revision).min())
                #expect(oldest > 1)
                let domain = Domain(try DomainName("a.b0"))
                #expect(file.thinned.keys(in: domain, after: 1, among: ["key 3"]).contains("key 3"))
                #expect(file.thinned.keys(in: domain, after: oldest, among: ["key 3"]) == [])
            }
        }
    }

    @Test("Records without keys are thinned, too")
    func otherRecords() throws {
        try withTemporaryDirectory { directory in
            var archive = HistoryArchive(path: directory + "/archive")
            let domain = Domain(try DomainName("a.b"))
            try archive.append(
                (1...300).map { LogRecord(revision: $0, time: Timestamp(nanoseconds: 0), event: .recovered(domain)) })
            var thinning = HistoryLimits()
            thinning.changes = 10
            try archive.thin(thinning, without: HistoryExclusions(), now: .now())
            let file = try #require(try HistoryFile(reading: archive.path))
            #expect(file.records(before: .max).map(\.revision) == Array((291...300).reversed()))
        }
    }

    @Test("An archive cut at any byte keeps the records before it, and a later record follows them")
    func torn() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/archive"
            var whole = HistoryArchive(path: path)
            try whole.append(try (1...3).map { try Self.record($0, "key\($0)", "x") })
            let bytes = try RawFile.read(path)
            let file = try #require(try HistoryFile(reading: path))
            let ends = (0..<3).map { file.entry(at: $0).endIndex }
            for count in 0...bytes.count {
                try RawFile.write(bytes.prefix(count), to: path)
                let kept = ends.count { $0 <= count }
                var archive = HistoryArchive(path: path)
                try archive.append([try Self.record(9, "new", "x")])
                let expected = (0..<kept).map { "key\($0 + 1)" } + ["new"]
                let found = try Self.keys(try HistoryFile(reading: path))
                #expect(found == expected, "\(count) bytes")
                #expect(!RawFile.exists(path + ".damaged-1"), "What is incomplete is still in the log.")
            }
        }
    }

    /// Damage that isn't an incomplete entry at the end of an archive with three entries.
    private enum Damage: CaseIterable {
        case longEntry, longLastEntry, otherBytes, notAnArchive
    }

    @Test("An archive with other damage than an incomplete entry is kept aside", arguments: Damage.allCases)
    private func otherDamage(damage: Damage) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/archive"
            var archive = HistoryArchive(path: path)
            try archive.append(try (1...3).map { try Self.record($0, "key\($0)", "x") })
            var bytes = try RawFile.read(path)
            let file = try #require(try HistoryFile(reading: path))
            let starts = (0..<3).map { file.entry(at: $0).startIndex }
            switch damage {
            // The lengths are beyond the end of the file, but the entries are whole.
            case .longEntry: bytes[starts[1]] = 1
            case .longLastEntry: bytes[starts[2]] = 1
            case .otherBytes: bytes += Frame.bigEndian(UInt32(1_000)) + [UInt8](repeating: 7, count: 100)
            case .notAnArchive: bytes = Array("something else".utf8)
            }
            try RawFile.write(bytes, to: path)
            archive = HistoryArchive(path: path)
            try archive.append([try Self.record(9, "new", "x")])
            #expect(try RawFile.read(path + ".damaged-1") == bytes)
            #expect(try Self.keys(try HistoryFile(reading: path)).last == "new")
        }
    }

    @Test("An archive with a flipped bit never yields a wrong record")
    func damaged() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/archive"
            var archive = HistoryArchive(path: path)
            let records = try (1...3).map { try Self.record($0, "key\($0)", .integer(Int64($0))) }
            try archive.append(records)
            let bytes = try RawFile.read(path)
            let lengths = try #require(try HistoryFile(reading: path)?.entry(at: 2).startIndex)
            for position in bytes.indices {
                var damaged = Array(bytes)
                damaged[position] ^= 1
                try RawFile.write(damaged, to: path)
                let file = try #require(try HistoryFile(reading: path))
                let found = Array(file.records(before: .max))
                #expect(found.allSatisfy(records.contains), "byte \(position)")
                // A length may seem to belong to an incomplete entry.
                let isInLastLength = (lengths..<lengths + 4).contains(position)
                #expect(file.isDamaged || isInLastLength, "byte \(position)")
                #expect(found.count >= (position < HistoryArchive.magic.count ? 3 : 2), "byte \(position)")
            }
        }
    }

    @Test("Values of excluded keys are in no file but the domain's, and a follower reads them again")
    func secrets() throws {
        try withStoreFixture { fixture in
            let store = Store(
                directory: PreferencesDirectory(path: fixture.directory), journal: fixture.journal)
            let exclusions = HistoryExclusions(["org.example.*/pass*", "bank.*"])
            store.beginJournal(excluding: exclusions)
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["password": "hunter2", "user": "ada"])
            fixture.edit(store, ["user": "grace"])
            let log = String(decoding: try RawFile.read(fixture.logPath), as: UTF8.self)
            #expect(!log.contains("hunter2") && log.contains("grace"))
            let shown = try store.history(HistoryRequest()).records
            #expect(shown.count == 2)
            #expect(!"\(shown)".contains("hunter2"))
            let recovered = try #require(try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
            let first = try #require(recovered.records.first)
            guard case .unknown(fixture.domain, let rest?) = first.event else {
                Issue.record("\(first)")
                return
            }
            #expect(rest.changes.map(\.key) == ["user"], "The other keys of the change set stay in the history.")
            #expect(shown.last == first)
            // A key that is excluded later disappears from the file, once its edit is saved.
            try RawFile.write("ada", to: fixture.logPath + ".damaged-1")
            #expect(store.exclude(HistoryExclusions(["*/user"])) == [fixture.domain])
            store.maintainJournal(HistoryLimits())
            #expect(String(decoding: try RawFile.read(fixture.logPath), as: UTF8.self).contains("grace"))
            #expect(store.journal?.needsMaintenance == true)
            try store.save(fixture.domain)
            store.maintainJournal(HistoryLimits())
            #expect(!RawFile.exists(fixture.logPath + ".damaged-1"))
            let again = String(decoding: try RawFile.read(fixture.logPath), as: UTF8.self)
            #expect(!again.contains("grace") && !again.contains("ada"))
        }
    }

    /// The difference between two starts.
    private enum Restart: CaseIterable {
        case same, fewer, more, changedBack, rememberedOnly, copied, olderArchive, noArchive
    }

    @Test(
        "Only a start with new exclusions, a copied log or an older archive redacts the files",
        arguments: Restart.allCases)
    private func redactsOnce(restart: Restart) throws {
        try withStoreFixture { fixture in
            let archivePath = fixture.directory + ".archive"
            let file = ExclusionsFile(besideLog: fixture.logPath)
            func start(_ patterns: [String]) throws -> Store {
                let earlier = try intactLog(from: fixture.logPath, limits: PropertyListLimits())
                let log = ChangeLog(
                    epoch: earlier?.epoch ?? .random(), head: earlier?.head ?? 0, records: earlier?.records ?? [])
                let store = Store(
                    directory: PreferencesDirectory(path: fixture.directory), log: log, journal: fixture.journal)
                _ = try store.start(resuming: earlier)
                store.beginJournal(continuing: earlier, excluding: HistoryExclusions(patterns))
                return store
            }
            var archive = HistoryArchive(path: archivePath)
            try archive.append(try (1...3).map { try Self.record($0, "key", "x") })
            let older = try RawFile.read(archivePath)
            let first = try start(["a.b/secret", "a.b/password"])
            fixture.edit(first, ["key": 1])
            first.maintainJournal(HistoryLimits())
            #expect(file.contents?.redaction != nil)
            switch restart {
            case .changedBack:
                // While a key isn't excluded, its values get into the log, so an agent that ends then leaves no trace
                // of the exclusion.
                _ = first.exclude(HistoryExclusions(["a.b/secret"]))
                #expect(file.contents == nil)
            case .rememberedOnly:
                file.write(.init(exclusions: HistoryExclusions(["a.b/secret", "a.b/password"]), redaction: nil))
            case .copied:
                try RawFile.replace(fixture.logPath, with: try RawFile.read(fixture.logPath))
            case .olderArchive: try RawFile.write(older, to: archivePath)
            case .noArchive: unlink(archivePath)
            case .same, .fewer, .more: break
            }
            let patterns: [String] =
                switch restart {
                case .fewer: ["a.b/password"]
                case .more: ["a.b/secret", "a.b/password", "a.b/pin"]
                default: ["a.b/secret", "a.b/password"]
                }
            func archived() throws -> [UInt8]? {
                RawFile.exists(archivePath) ? try RawFile.read(archivePath) : nil
            }
            let before = (log: try RawFile.status(fixture.logPath).st_ino, archive: try archived())
            // If the archive were redacted, it would lose these changes, too.
            var thinning = HistoryLimits()
            (thinning.days, thinning.changes) = (0, 1)
            let second = try start(patterns)
            second.maintainJournal(thinning)
            let isQuiet = [.same, .fewer, .noArchive].contains(restart)
            #expect((try RawFile.status(fixture.logPath).st_ino == before.log) == isQuiet)
            #expect((try archived() == before.archive) == isQuiet)
            #expect(file.contents?.exclusions.texts == patterns && file.contents?.redaction != nil)
        }
    }

    @Test("Exclusions that couldn't be applied to the archive are remembered as such")
    func unapplied() throws {
        try withStoreFixture { fixture in
            var archive = HistoryArchive(path: fixture.directory + ".archive")
            try archive.append([try Self.record(1, "secret", "x")])
            let store = Store(
                directory: PreferencesDirectory(path: fixture.directory), journal: fixture.journal)
            let exclusions = HistoryExclusions(["a.b/secret"])
            store.beginJournal(excluding: exclusions)
            _ = try store.start(resuming: nil)
            let file = ExclusionsFile(besideLog: fixture.logPath)
            // The archive's new version can't be written.
            try RawFile.makeDirectory(archive.path + ".new")
            store.maintainJournal(HistoryLimits())
            #expect(store.journal?.archiveProblem != nil)
            #expect(file.contents?.exclusions == exclusions && file.contents?.redaction == nil)
            rmdir(archive.path + ".new")
            store.maintainJournal(HistoryLimits())
            #expect(file.contents?.exclusions == exclusions && file.contents?.redaction != nil)
        }
    }

    /// Calls a closure with a store whose archive can't be written, and the archive's path.
    private func withBlockedArchive(_ body: (StoreFixture, Store, _ archive: String) throws -> Void) throws {
        try withStoreFixture { fixture in
            let log = ChangeLog(capacity: ChangeLog.Capacity(records: 20))
            let store = Store(
                directory: PreferencesDirectory(path: fixture.directory), log: log, journal: fixture.journal)
            let archive = fixture.directory + ".archive"
            try RawFile.makeDirectory(archive)
            store.beginJournal(sizeLimit: 8_192)
            _ = try store.start(resuming: nil)
            try body(fixture, store, archive)
        }
    }

    @Test("Records that can't be archived stay in the log file until they can")
    func blockedArchive() throws {
        try withBlockedArchive { fixture, store, archive in
            func edit(_ numbers: Range<Int>) {
                for number in numbers {
                    fixture.edit(store, ["key": .integer(Int64(number))])
                    if number % 10 == 0 { store.maintainJournal(HistoryLimits()) }
                }
            }
            edit(0..<100)
            #expect(store.journal?.problem == nil && store.journal?.archiveProblem?.errno == EISDIR)
            let recovered = try #require(try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
            #expect(recovered.records.map(\.revision) == Array(1...100))
            rmdir(archive)
            defer { unlink(archive) }
            edit(100..<500)
            #expect(store.journal?.archiveProblem == nil)
            #expect(try HistoryFile(reading: archive)?.records(before: .max).map(\.revision).last == 1)
        }
    }

    @Test("A problem with the archive ends with its cause, even if nothing changes anymore")
    func endOfProblem() throws {
        try withBlockedArchive { fixture, store, archive in
            for number in 0..<100 as Range<Int64> { fixture.edit(store, ["key": .integer(number)]) }
            store.maintainJournal(HistoryLimits())
            #expect(store.journal?.archiveProblem != nil && store.journal?.needsMaintenance == true)
            rmdir(archive)
            defer { unlink(archive) }
            store.maintainJournal(HistoryLimits())
            #expect(store.journal?.archiveProblem == nil && store.journal?.needsMaintenance == false)
        }
    }

    @Test("Records that can't be archived aren't dropped from a log that only has many marks")
    func manyMarks() throws {
        try withBlockedArchive { fixture, store, archive in
            for number in 0..<100 { fixture.edit(store, ["key": .integer(Int64(number))]) }
            // Earlier versions wrote all marks at every start.
            let mark = LogEntry.mark(FileMark(domain: fixture.domain, hash: nil, revision: 100))
            try store.journal?.logFile.withLock { try $0.file?.append([LogEntry](repeating: mark, count: 3_000)) }
            var thinning = HistoryLimits()
            thinning.bytes = 1 << 16
            let large = try RawFile.status(fixture.logPath).st_size
            #expect(large > 4 * thinning.bytes)
            store.maintainJournal(thinning)
            #expect(try RawFile.status(fixture.logPath).st_size < large / 4)
            let recovered = try #require(try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
            #expect(recovered.records.map(\.revision) == Array(1...100))
            #expect(store.journal?.archiveProblem?.errno == EISDIR)
        }
    }

    @Test("A page continues where the last one ended, and a cursor of another log is refused")
    func pages() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            for number in 0..<10 {
                fixture.edit(store, ["key\(number % 2)": .integer(Int64(number))])
            }
            let filter = SubscriptionFilter(keys: [GlobPattern("key1")])
            let first = try store.history(HistoryRequest(filter: filter, limit: 3))
            #expect(first.records.map(\.revision) == [10, 8, 6])
            let second = try store.history(HistoryRequest(filter: filter, before: first.next, limit: 3))
            #expect(second.records.map(\.revision) == [4, 2])
            #expect(second.isEnd)
            let other = Cursor(epoch: Epoch(value: 1), revision: 3)
            #expect(throws: DefaultsError.self) { try store.history(HistoryRequest(before: other)) }
            #expect(try HistoryPage(Fields(second.fields)) == second)
        }
    }

    @Test("An origin is part of the change set, in messages and in the log file")
    func origins() throws {
        try withStoreFixture { fixture in
            let store = try fixture.storeWithLog()
            let cursor = Cursor(epoch: Epoch(value: 7), revision: 3)
            let origins = [
                Origin(purpose: .undo(cursor)), Origin(purpose: .redo(cursor)), Origin(program: "/usr/bin/editor"),
                Origin(purpose: .profile("dark")), Origin(program: "x", purpose: .other("machine", of: "m")),
                Origin(purpose: .other("later", of: "that")),
                Origin(purpose: .undo(cursor, UndoReach(oldest: ["key": 1, "other": 2], first: 9))),
            ]
            for (number, origin) in origins.enumerated() {
                let request = EditRequest(
                    domain: fixture.domain, values: ["key": .integer(Int64(number))], writer: .testApp, origin: origin)
                let sent = NumberedRequest(number: 1, request: .edit(request))
                let app = AppIdentity(pid: 1, executable: "test")
                guard case .edit(let received) = try NumberedRequest(Fields(sent.fields), from: app).request else {
                    Issue.record("Another request was received.")
                    return
                }
                #expect(received.origin == origin)
                _ = try store.submit(received)
            }
            let recovered = try #require(try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
            let found = recovered.records.map { record -> Origin? in
                if case .change(let changeSet) = record.event { changeSet.origin } else { nil }
            }
            #expect(found == origins)
            let long = Fields(["origin": ["program": .string(String(repeating: "x", count: 2_000))]])
            #expect(throws: DefaultsError.self) { try Origin(long) }
        }
    }
}
