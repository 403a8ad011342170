import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// Tests that files beside a domain's file decide whether an announced save was made, and not the file's times.
@Suite("Evidence of an interrupted save")
struct CrashEvidenceTests {
    /// A writer that changes no value.
    enum Touch: CaseIterable { case nothing, times, mode, sameBytes, copy, movedAwayAndBack }

    private func touch(_ fixture: StoreFixture, _ touch: Touch) throws {
        letTimePass()
        let bytes = try RawFile.read(fixture.path)
        switch touch {
        case .nothing: break
        case .times: #expect(utimes(fixture.path, nil) == 0)
        case .mode: #expect(chmod(fixture.path, 0o640) == 0)
        case .sameBytes: try RawFile.write(bytes, to: fixture.path)
        case .copy: try RawFile.replace(fixture.path, with: bytes)
        case .movedAwayAndBack:
            #expect(rename(fixture.path, fixture.path + ".aside") == 0)
            #expect(rename(fixture.path + ".aside", fixture.path) == 0)
        }
    }

    @Test("A version that another program wrote before an earlier edit was saved comes before that edit")
    func orderOfVersions() {
        let domain = Domain(DomainName(unchecked: "a"))
        let sources: [Writer] = [.file, .testApp, .file, .testApp]
        let records = zip(1..., sources).map { revision, source in
            let change = KeyChange(key: "k\(revision)", old: nil, new: .integer(Int64(revision)))
            return LogRecord(
                revision: Revision(revision), time: Timestamp(nanoseconds: Int64(revision)),
                event: .change(ChangeSet(domain: domain, source: source, changes: [change])))
        }
        let hashes = (0...4).map { ContentHash(value: $0) }
        let edit = Edit(value: 2, time: Timestamp(nanoseconds: 2), writer: .testApp, sequence: 1)
        let marks = [
            FileMark(domain: domain, hash: hashes[1], revision: 1),
            FileMark(domain: domain, hash: hashes[3], revision: 3, pending: ["k2": edit]),
            FileMark(domain: domain, hash: hashes[2], revision: 3),
            FileMark(domain: domain, hash: hashes[4], revision: 4),
        ]
        let versions = LoggedVersions(of: records, marks: marks)
        #expect(versions.totals(of: marks, since: 1) == [hashes[1]: 1, hashes[3]: 2, hashes[2]: 3, hashes[4]: 4])
    }

    @Test("A version that another program made from an old one comes after the edits that were saved before it")
    func staleVersion() {
        let domain = Domain(DomainName(unchecked: "a"))
        let time = { Timestamp(nanoseconds: $0) }
        func record(_ revision: Revision, _ source: Writer, overruling stale: [String] = []) -> LogRecord {
            var changeSet = ChangeSet(
                domain: domain, source: source, changes: [KeyChange(key: "k\(revision)", old: nil, new: 1)])
            changeSet.overruled = stale.map {
                Overruled(key: $0, value: nil, writer: .file, reason: .olderVersion(time(1)))
            }
            return LogRecord(revision: revision, time: time(Int64(revision)), event: .change(changeSet))
        }
        // The program had loaded version 1, so the agent sets the keys of versions 2 and 3 again. Edit 4 wasn't saved.
        let records = [
            record(1, .testApp), record(2, .testApp), record(3, .testApp), record(4, .testApp),
            record(5, .file, overruling: ["k2", "k3"]),
        ]
        let hashes = (0...6).map { ContentHash(value: $0) }
        func edit(_ key: String, by writer: Writer) -> (String, Edit) {
            (key, Edit(value: 1, time: time(4), writer: writer, sequence: writer == .agent ? Edit.unordered : 4))
        }
        let pending = Dictionary(
            uniqueKeysWithValues: [edit("k2", by: .agent), edit("k3", by: .agent), edit("k4", by: .testApp)])
        var stale = FileMark(domain: domain, hash: hashes[5], revision: 5, pending: pending)
        stale.complete = 3
        for mark in [stale, stale.ofReplacedVersion] {
            let marks =
                (1...3).map { FileMark(domain: domain, hash: hashes[$0], revision: Revision($0)) }
                + [mark, FileMark(domain: domain, hash: hashes[6], revision: 5)]
            let versions = LoggedVersions(of: records, marks: marks)
            let totals = versions.totals(of: marks, since: 1)
            #expect(totals == [hashes[1]: 1, hashes[2]: 2, hashes[3]: 3, hashes[5]: 4, hashes[6]: 6])
        }
    }

    /// Announces the save of what is pending, as a store does before it makes the save.
    private func announce(_ store: Store, _ fixture: StoreFixture) throws -> (plan: SavePlan, bytes: [UInt8]?) {
        let plan = try #require(store.state.withLock { $0.plan(for: fixture.domain) })
        let bytes = plan.count == 0 ? nil : try PropertyListValue.dictionary(plan.values()).write(as: .xml)
        store.state.withLock { $0.willSave(plan, for: fixture.domain, hash: bytes.map(ContentHash.init)) }
        store.writeLog()
        return (plan, bytes)
    }

    private func hiddenPath(_ fixture: StoreFixture, _ plan: SavePlan, _ bytes: [UInt8]?) -> String {
        let name = TemporaryName(
            for: fixture.path, new: bytes.map(ContentHash.init), expected: plan.expected?.hash
        ).name
        return "\(fixture.directory)/\(name)"
    }

    @Test(
        "An acknowledged edit survives a crash before its save, whatever touches the file", arguments: Touch.allCases,
        [nil, 0, 20, 10_000])
    func touched(touch kind: Touch, written: Int?) throws {
        for isRemoval in [false, true] {
            try withStoreFixture { fixture in
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["k": "old"])
                try first.save(fixture.domain)
                fixture.edit(first, ["k": isRemoval ? nil : "new"])
                let (plan, bytes) = try announce(first, fixture)
                // The temporary file may be missing, empty, incomplete or whole.
                if let written, let bytes {
                    let path = hiddenPath(fixture, plan, bytes)
                    try RawFile.write(Array(bytes.prefix(written)), to: path)
                    if written > 0 {
                        SaveMark(hash: ContentHash(bytes), times: nil).set(
                            on: try FileDescriptor(opening: path, O_RDWR))
                    }
                }
                try touch(fixture, kind)
                let wanted: DomainValues = isRemoval ? [:] : ["k": "new"]
                let second = try fixture.resumedStore()
                #expect(fixture.values(second) == wanted)
                // Nothing loses the edit once the second agent has removed the evidence, and was killed, too.
                _ = second.examineDisplaced()
                let third = try fixture.resumedStore()
                #expect(fixture.values(third) == wanted)
                try third.save(fixture.domain)
                #expect((try? DomainValues.read(fixture.path)) ?? [:] == wanted)
                _ = third.examineDisplaced()
                #expect(namesOfFiles(in: fixture.directory).count == (isRemoval ? 0 : 1))
            }
        }
    }

    @Test("A version that was restored after an interrupted save stays", arguments: [false, true], [false, true])
    func restored(isInPlace: Bool, isWriterLast: Bool) throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["k": "old"])
            try first.save(fixture.domain)
            let before = try RawFile.read(fixture.path)
            fixture.edit(first, ["k": "new"])
            let (plan, bytes) = try announce(first, fixture)
            // The save was made; another program may have replaced the file at the last moment.
            let foreign = try PropertyListValue.dictionary(["k": "old", "f": 1]).write(as: .xml)
            if isWriterLast { try RawFile.replace(fixture.path, with: foreign) }
            #expect(rename(fixture.path, hiddenPath(fixture, plan, bytes)) == 0)
            try RawFile.write(#require(bytes), to: fixture.path)
            letTimePass()
            if isInPlace {
                try RawFile.write(before, to: fixture.path)
            } else {
                try RawFile.replace(fixture.path, with: before)
            }
            // A command without an agent doesn't remove what the next agent has to see.
            let command = Store(directory: PreferencesDirectory(path: fixture.directory), lifetime: .transient)
            _ = command.examineDisplaced()
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["k": "old"])
            #expect(second.pending().isEmpty)
        }
    }

    @Test("A file that a program changed after an interrupted save is compared with the version that it had loaded")
    func changedLater() throws {
        for isFirst in [false, true] {
            try withStoreFixture { fixture in
                let first = try fixture.storeWithLog()
                if !isFirst {
                    fixture.edit(first, ["k": 0, "x": 0])
                    try first.save(fixture.domain)
                }
                fixture.edit(first, ["k": 1, "x": 1])
                let (_, bytes) = try announce(first, fixture)
                // The save is made, and the agent is killed before it says so. In the meantime, it accepts more.
                try RawFile.replace(fixture.path, with: #require(bytes))
                fixture.edit(first, ["k": 2])
                letTimePass()
                try RawFile.replace(
                    fixture.path, with: PropertyListValue.dictionary(["k": 1, "x": 5]).write(as: .xml))
                let second = try fixture.resumedStore()
                #expect(fixture.values(second) == ["k": 2, "x": 5])
            }
        }
    }

    @Test(
        "Edits made during an interrupted save stay, even if the log lost their records during it", arguments: [0, 1])
    func shortLog(foreign: Int) throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            first.setLogCapacity(ChangeLog.Capacity(records: 1))
            fixture.edit(first, ["k": 0, "m": 0, "x": 0])
            try first.save(fixture.domain)
            fixture.edit(first, ["k": 1])
            let (plan, bytes) = try announce(first, fixture)
            #expect(rename(fixture.path, hiddenPath(fixture, plan, bytes)) == 0)
            try RawFile.write(#require(bytes), to: fixture.path)
            fixture.edit(first, ["k": 2])
            fixture.edit(first, ["m": 2])
            first.edit(EditRequest(domain: Domain(.global), values: ["x": 1], writer: .testApp))
            first.journal?.logFile.withLock { $0.file?.sizeLimit = 0 }
            first.maintainJournal(HistoryLimits())
            letTimePass()
            var values: DomainValues = ["k": 1, "m": 0, "x": 0]
            if foreign > 0 {
                values["x"] = 5
                try RawFile.replace(fixture.path, with: PropertyListValue.dictionary(values).write(as: .xml))
            }
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == values.merging(["k": 2, "m": 2]) { $1 })
        }
    }

    @Test(
        "A program that writes into a displaced version overrules no later edit, even after the log was rewritten",
        arguments: [false, true])
    func displacedAfterRewriting(isEditedAgain: Bool) throws {
        try withStoreFixture { fixture in
            /// Makes an announced save, of which a crash leaves the displaced file. Then a program writes that.
            func crash(saving plan: SavePlan, _ bytes: [UInt8]?, writing values: DomainValues? = nil) throws {
                let path = hiddenPath(fixture, plan, bytes)
                #expect(rename(fixture.path, path) == 0)
                try RawFile.write(#require(bytes), to: fixture.path)
                guard let values else { return }
                letTimePass()
                try RawFile.write(PropertyListValue.dictionary(values).write(as: .xml), to: path)
            }
            func rewriteLog(of store: Store) {
                store.journal?.logFile.withLock { $0.file?.sizeLimit = 0 }
                store.maintainJournal(HistoryLimits())
            }
            var store = try fixture.storeWithLog()
            fixture.edit(store, ["k": 0, "x": 0])
            try store.save(fixture.domain)
            fixture.edit(store, ["k": 1])
            try store.save(fixture.domain)
            if isEditedAgain {
                fixture.edit(store, ["k": 2])
                let (plan, bytes) = try announce(store, fixture)
                fixture.edit(store, ["k": 3])
                rewriteLog(of: store)
                try crash(saving: plan, bytes)
                store = try fixture.resumedStore()
            } else {
                fixture.edit(store, ["k": 2])
                rewriteLog(of: store)
            }
            let (plan, bytes) = try announce(store, fixture)
            try crash(saving: plan, bytes, writing: ["k": isEditedAgain ? 2 : 1, "x": 5])
            store = try fixture.resumedStore()
            _ = store.examineDisplaced(olderThan: .zero)
            #expect(fixture.values(store) == ["k": isEditedAgain ? 3 : 2, "x": 5])
        }
    }

    @Test("An edit that the log holds alone doesn't come back over a saved one that it can't hold")
    func formerEdit() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 0])
            try first.save(fixture.domain)
            fixture.edit(first, ["a": 1])
            _ = first.exclude(HistoryExclusions(["*/password"]))
            fixture.edit(first, ["a": 2, "password": "p"])
            let (plan, bytes) = try announce(first, fixture)
            #expect(rename(fixture.path, hiddenPath(fixture, plan, bytes)) == 0)
            try RawFile.write(#require(bytes), to: fixture.path)
            first.maintainJournal(HistoryLimits())
            #expect(fixture.values(try fixture.resumedStore()) == ["a": 2, "password": "p"])
        }
    }

    @Test("A version that was moved back into place counts from then on, and not from when it was saved")
    func movedBack() throws {
        for isOffline in [false, true] {
            try withStoreFixture { fixture in
                var store = try fixture.storeWithLog()
                fixture.edit(store, ["k": 1])
                try store.save(fixture.domain)
                #expect(link(fixture.path, fixture.path + ".aside") == 0)
                fixture.edit(store, ["k": 2])
                // The file has a second name, so it would be written in place.
                unlink(fixture.path)
                fixture.look(store)
                fixture.edit(store, ["k": 2])
                try store.save(fixture.domain)
                fixture.edit(store, ["k": 3])
                letTimePass()
                #expect(rename(fixture.path + ".aside", fixture.path) == 0)
                if isOffline { store = try fixture.resumedStore() } else { fixture.look(store) }
                #expect(fixture.values(store) == ["k": 1])
            }
        }
    }
}
