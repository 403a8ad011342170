import Glibc
import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

/// Each store here is dropped without shutting down, as in a crash.
@Suite("Stores that resume an earlier store's log")
struct ResumeTests {
    @Test("An unchanged file causes no record, and the log continues")
    func unchanged() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1, "b": .date(PropertyListDate(secondsSinceReferenceDate: 0.5))])
            try first.save(fixture.domain)
            fixture.edit(first, ["a": 2])
            try first.save(fixture.domain)

            let second = try fixture.resumedStore()
            #expect(second.cursor == first.cursor)
            #expect(second.records == first.records)
            #expect(fixture.values(second)["a"] == 2)
            #expect(second.pending().isEmpty)
            #expect(fixture.edit(second, ["a": 3]) == 3)
        }
    }

    @Test("Unsaved edits are pending again after a restart and are saved once")
    func unsavedEdits() throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["a": 1, "b": 1]).write(as: .xml), to: fixture.path)
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 2, "b": nil])
            fixture.edit(first, ["a": 3, "c": 1])

            let second = try fixture.resumedStore()
            #expect(second.cursor == first.cursor)
            #expect(fixture.values(second) == ["a": 3, "c": 1])
            #expect(second.pending().map(\.edits) == [3])
            // A second restart before the edits are saved.
            let third = try fixture.resumedStore()
            #expect(third.pending().map(\.edits) == [3])
            try third.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 3, "c": 1])
            #expect(third.records == first.records)

            let last = try fixture.resumedStore()
            #expect(last.pending().isEmpty)
            #expect(last.records == first.records)
        }
    }

    @Test("A foreign writer that repeats its write after a crash reverts no edit")
    func sameAgain() throws {
        try withStoreFixture { fixture in
            let bytes = try PropertyListValue.dictionary(["a": 1, "b": 1]).write(as: .xml)
            try RawFile.write(bytes, to: fixture.path)
            fixture.edit(try fixture.storeWithLog(), ["a": 2])

            let second = try fixture.resumedStore()
            try second.save(fixture.domain)
            // Foundation's UserDefaults reads back what it has written, and finds the saved version.
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 1])
            try RawFile.write(bytes, to: fixture.path)
            #expect(second.reload([fixture.domain]).isEmpty)
            #expect(fixture.values(second) == ["a": 2, "b": 1])
            try second.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 1])
        }
    }

    @Test("A rewritten log holds a large unsaved value once for the edit and once for the newest version")
    func largeEdit() throws {
        try withStoreFixture { fixture in
            try fixture.writeLater(["other": 0])
            let first = try fixture.storeWithLog()
            let large = PropertyListValue.string(String(repeating: "x", count: 60_000))
            fixture.edit(first, ["k": large])
            for number in 1...5 {
                try fixture.writeLater(["other": .integer(Int64(number))])
                fixture.look(first)
            }
            let second = try fixture.resumedStore()
            second.journal?.logFile.withLock { $0.file?.sizeLimit = 0 }
            second.maintainJournal(HistoryLimits())
            #expect(try RawFile.read(fixture.logPath).count < 3 * 60_000)
            let third = try fixture.resumedStore()
            #expect(fixture.values(third) == ["k": large, "other": 5])
            // A program that still has an older version loaded doesn't revert the edit.
            try third.save(fixture.domain)
            try RawFile.replace(
                fixture.path, with: PropertyListValue.dictionary(["other": 2, "theirs": 1]).write(as: .xml))
            fixture.look(third)
            #expect(fixture.values(third)["k"] == large)
        }
    }

    @Test("Edits of a domain without a file are pending again after a restart")
    func newDomain() throws {
        try withStoreFixture { fixture in
            fixture.edit(try fixture.storeWithLog(), ["a": 1])
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["a": 1])
            #expect(second.pending().map(\.edits) == [1])
            #expect(second.events == ["app: a"])
        }
    }

    @Test("An unsaved edit survives changes to other keys in the file, but not a later change to its own key")
    func otherKeysChanged() throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["a": 1, "b": 1, "c": 1]).write(as: .xml), to: fixture.path)
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 2, "b": 2, "new": 2])
            try fixture.writeLater(["a": 1, "b": 5, "c": 5])

            let second = try fixture.resumedStore()
            #expect(second.events.last == "unknown")
            #expect(fixture.values(second) == ["a": 2, "b": 5, "c": 5, "new": 2])
            try second.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 5, "c": 5, "new": 2])
        }
    }

    @Test(
        "After two crashes, an unsaved edit survives a change to another key in the file", arguments: [0, 1, 3],
        [true, false])
    func anotherKeyAfterCrashes(restarts: Int, hasFile: Bool) throws {
        try withStoreFixture { fixture in
            if hasFile { try RawFile.write(PropertyListValue.dictionary(["k": 0]).write(as: .xml), to: fixture.path) }
            fixture.edit(try fixture.storeWithLog(), ["k": 1])
            // Each of these ends before it saves.
            for _ in 0..<restarts { _ = try fixture.resumedStore() }
            try fixture.writeLater(hasFile ? ["k": 0, "other": 1] : ["other": 1])
            let last = try fixture.resumedStore()
            #expect(fixture.values(last) == ["k": 1, "other": 1])
            try last.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["k": 1, "other": 1])
        }
    }

    @Test("After two crashes, a later change to the same key in the file stays", arguments: [0, 1, 3])
    func sameKeyAfterCrashes(restarts: Int) throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["k": 0]).write(as: .xml), to: fixture.path)
            fixture.edit(try fixture.storeWithLog(), ["k": 1])
            for _ in 0..<restarts { _ = try fixture.resumedStore() }
            try fixture.writeLater(["k": 2])
            #expect(fixture.values(try fixture.resumedStore()) == ["k": 2])
        }
    }

    @Test("A log whose file can't be written gets a new epoch and leaves no outdated file behind")
    func noLogFile() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            let recovered = try #require(try intactLog(from: fixture.logPath, limits: Frame.messageLimits))
            let log = ChangeLog(epoch: recovered.epoch, head: recovered.head, records: recovered.records)
            let second = Store(
                directory: PreferencesDirectory(path: fixture.directory), log: log, journal: fixture.journal)
            // A directory is in the way of the new file.
            unlink(fixture.logPath)
            #expect(mkdir(fixture.logPath, 0o700) == 0)
            try RawFile.write("", to: fixture.logPath + "/inside")
            defer { removeTree(fixture.logPath) }
            second.beginJournal()
            #expect(second.journal?.problem != nil)
            #expect(second.cursor.epoch != recovered.epoch)
            #expect(second.state.withLock { $0.outbox == nil })
            #expect(namesOfFiles(in: fixture.logPath) == ["inside"])
        }
    }

    /// Simulates a crash while saving: the file is about to be replaced, or has just been replaced.
    private func crash(_ store: Store, _ fixture: StoreFixture, isReplaced: Bool) throws {
        let plan = try #require(store.state.withLock { $0.plan(for: fixture.domain) })
        let bytes = try PropertyListValue.dictionary(plan.values()).write(as: .xml)
        store.state.withLock { $0.willSave(plan, for: fixture.domain, hash: ContentHash(bytes)) }
        store.writeLog()
        if !isReplaced { return }
        if let expected = plan.expected {
            let hidden = TemporaryName(for: fixture.path, new: ContentHash(bytes), expected: expected.hash)
            #expect(rename(fixture.path, "\(fixture.directory)/\(hidden.name)") == 0)
        }
        try RawFile.replace(fixture.path, with: bytes)
    }

    /// Returns a store that has saved values, and crashed while saving 100 as the value of `k`, and the earlier file.
    private func crashedStore(
        _ fixture: StoreFixture, _ values: DomainValues = ["k": 1], isReplaced: Bool
    ) throws -> (store: Store, before: [UInt8]) {
        let store = try fixture.storeWithLog()
        fixture.edit(store, values.mapValues(Optional.some))
        try store.save(fixture.domain)
        let before = try RawFile.read(fixture.path)
        fixture.edit(store, ["k": 100])
        try crash(store, fixture, isReplaced: isReplaced)
        return (store, before)
    }

    @Test(
        "A crash while saving neither loses nor repeats an edit", arguments: [true, false], [true, false])
    func crashWhilePublishing(hasFile: Bool, isReplaced: Bool) throws {
        try withStoreFixture { fixture in
            if hasFile { try RawFile.write(PropertyListValue.dictionary(["a": 0]).write(as: .xml), to: fixture.path) }
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1, "b": 1])
            try crash(first, fixture, isReplaced: isReplaced)

            let second = try fixture.resumedStore()
            #expect(second.events == ["app: a b"])
            #expect(fixture.values(second) == ["a": 1, "b": 1])
            #expect(second.pending().count == (isReplaced ? 0 : 1))
            try second.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 1, "b": 1])
        }
    }

    @Test(
        "What was done after a save and a crash stays, even if it is the state before the save",
        arguments: ["write", "replace", "overwrite", "remove", "move", "delete domain", "delete key", "delete new key"])
    func revertedAfterCrash(way: String) throws {
        try withStoreFixture { fixture in
            let values: DomainValues = way == "delete new key" ? ["other": 1] : ["k": 1]
            let (_, before) = try crashedStore(fixture, values, isReplaced: true)
            letTimePass()
            let command = Store(directory: PreferencesDirectory(path: fixture.directory), lifetime: .transient)
            _ = try command.start(resuming: nil)
            #expect(fixture.values(command)["k"] == 100)
            switch way {
            case "write": fixture.edit(command, ["k": 1])
            case "delete domain", "delete key", "delete new key": fixture.edit(command, ["k": nil])
            case "replace": try RawFile.replace(fixture.path, with: before)
            case "overwrite": try RawFile.write(before, to: fixture.path)
            case "remove": unlink(fixture.path)
            default: #expect(rename(fixture.path, fixture.directory + "/moved") == 0)
            }
            try command.save(fixture.domain)
            let after = try? DomainValues.read(fixture.path)
            #expect(after == (["write", "replace", "overwrite", "delete new key"].contains(way) ? values : nil))

            let second = try fixture.resumedStore()
            #expect(second.pending().isEmpty)
            #expect(fixture.values(second) == after ?? [:])
            #expect(second.events.last == "unknown")
            #expect(fixture.values(try fixture.resumedStore()) == after ?? [:])
        }
    }

    @Test(
        "An edit whose save a crash prevented is kept, even if the file's status changes",
        arguments: ["nothing", "mode", "access time"])
    func preventedSave(change: String) throws {
        try withStoreFixture { fixture in
            _ = try crashedStore(fixture, isReplaced: false)
            letTimePass()
            let times = [timespec(tv_sec: 1, tv_nsec: 0), try RawFile.status(fixture.path).st_mtim]
            switch change {
            case "mode": #expect(chmod(fixture.path, 0o600) == 0)
            case "access time": #expect(utimensat(AT_FDCWD, fixture.path, times, 0) == 0)
            default: break
            }
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["k": 100])
            try second.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["k": 100])
        }
    }

    @Test("An edit made after a save and before a crash is kept", arguments: [true, false])
    func editAfterSave(isRemoved: Bool) throws {
        try withStoreFixture { fixture in
            let (first, before) = try crashedStore(fixture, isReplaced: true)
            fixture.edit(first, ["new": 1])
            letTimePass()
            if isRemoved { unlink(fixture.path) } else { try RawFile.replace(fixture.path, with: before) }
            let second = try fixture.resumedStore()
            let values: DomainValues = isRemoved ? ["new": 1] : ["k": 1, "new": 1]
            #expect(fixture.values(second) == values)
            try second.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == values)
        }
    }

    @Test("An announced save that failed says nothing about versions read later", arguments: [true, false])
    func failedSave(isSame: Bool) throws {
        try withStoreFixture { fixture in
            let (first, _) = try crashedStore(fixture, isReplaced: false)
            letTimePass()
            let values: DomainValues = isSame ? ["k": 1] : ["k": 1, "other": 1]
            try RawFile.replace(fixture.path, with: PropertyListValue.dictionary(values).write(as: .xml))
            fixture.look(first)
            first.writeLog()
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == values.merging(["k": 100]) { $1 })
        }
    }

    @Test("A crash while saving is recognized even if the log was rewritten just before")
    func crashAfterRewriting() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            for number in Int64(0)..<50 { fixture.edit(first, ["n": .integer(number)]) }
            try crash(first, fixture, isReplaced: true)
            first.journal?.logFile.withLock { $0.file?.sizeLimit = 0 }
            // A record of another domain makes the log file too large.
            first.edit(EditRequest(domain: Domain(.global), values: ["x": 1], writer: .testApp))
            let count = first.records.count
            let second = try fixture.resumedStore()
            #expect(second.records.count == count)
            #expect(second.pending().map(\.domain) == [Domain(.global)])
        }
    }

    @Test("A change to a file while no agent was running is reported as an unknown change")
    func changedWhileAway() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try first.save(fixture.domain)
            try RawFile.write("{ a = 2; z = 3; }", to: fixture.path)

            let second = try fixture.resumedStore()
            // The log knows the old value of one key and reports that change. The other keys' old values are unknown.
            #expect(second.events == ["app: a", "file: a", "unknown"])
            #expect(fixture.values(second) == ["a": "2", "z": "3"])
            #expect(second.pending().isEmpty)
            // The change is reported only once.
            #expect(try fixture.resumedStore().events == ["app: a", "file: a", "unknown"])
        }
    }

    @Test("A file that was restored to an earlier version while no agent was running stays restored")
    func restoredWhileAway() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try first.save(fixture.domain)
            let backup = try RawFile.read(fixture.path)
            fixture.edit(first, ["a": 2, "b": 2])
            try first.save(fixture.domain)
            letTimePass()
            try RawFile.replace(fixture.path, with: backup)

            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["a": 1])
            #expect(second.pending().isEmpty)
            #expect(second.events.last == "unknown")
        }
    }

    @Test("An unsaved edit loses to a later change made while no agent was running")
    func unsavedAgainstChange() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 0; }", to: fixture.path)
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1], at: Timestamp(nanoseconds: 1))
            letTimePass()
            try RawFile.write("{ a = 2; }", to: fixture.path)
            #expect(fixture.values(try fixture.resumedStore()) == ["a": "2"])
        }
    }

    /// The file lists the times of the 32 keys that changed last, and otherwise tells only whose edits it has.
    @Test(
        "An unsaved edit that a process makes again without an agent, and then undoes, doesn't come back",
        arguments: [0, 1, 40], [false, true])
    func undoneEdit(others: Int, isRestarted: Bool) throws {
        try withStoreFixture { fixture in
            let made = Timestamp.now()
            func edit(_ store: Store, _ values: Difference, _ number: UInt64) {
                let identity = others == 1 ? nil : EditIdentity(session: 1, number: number)
                let time = Timestamp(nanoseconds: made.nanoseconds + Int64(number))
                store.edit(
                    EditRequest(
                        domain: fixture.domain, values: values, time: time, writer: .testApp, identity: identity))
            }
            let first = try fixture.storeWithLog()
            edit(first, ["b": 0], 1)
            try first.save(fixture.domain)
            edit(first, ["a": 1], 2)
            let process = fixture.store()
            fixture.look(process)
            edit(process, ["a": 1], 2)
            edit(process, ["a": nil], 3)
            let values: [String: PropertyListValue] = Dictionary(
                uniqueKeysWithValues: (0..<others).map { ("c\($0)", 2) })
            edit(process, values.mapValues(\.self), 4)
            try process.save(fixture.domain)

            let second = isRestarted ? try fixture.resumedStore() : first
            fixture.look(second)
            #expect(fixture.values(second) == values.merging(["b": 0]) { $1 })
            #expect(second.pending().isEmpty)
            let changes = second.records.last { $0.changeSet != nil }?.changeSet?.changes
            #expect(changes?.contains(KeyChange(key: "a", old: 1, new: nil)) == true)
        }
    }

    @Test("A process that makes a conditional edit without an agent doesn't drop an earlier one that isn't saved")
    func earlierConditionalEdit() throws {
        try withStoreFixture { fixture in
            func edit(_ store: Store, _ key: String, _ number: UInt64) {
                store.edit(
                    EditRequest(
                        domain: fixture.domain, values: [key: 1], writer: .testApp,
                        identity: EditIdentity(session: 2, number: number), expecting: [key: nil]))
            }
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["b": 0])
            try first.save(fixture.domain)
            edit(first, "a", 1)
            let process = fixture.store()
            fixture.look(process)
            edit(process, "c", 2)
            try process.save(fixture.domain)
            #expect(fixture.values(try fixture.resumedStore()) == ["a": 1, "b": 0, "c": 1])
        }
    }

    @Test("A save by another process doesn't bring back an edit that was undone without an agent")
    func saveByAnother() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["b": 0])
            try first.save(fixture.domain)
            func edit(_ store: Store, _ values: Difference, _ number: UInt64) {
                store.edit(
                    EditRequest(
                        domain: fixture.domain, values: values, writer: .testApp,
                        identity: EditIdentity(session: 1, number: number)))
            }
            edit(first, ["a": 1], 1)
            let process = fixture.store()
            fixture.look(process)
            edit(process, ["a": 1], 1)
            edit(process, ["a": nil], 2)
            // The file doesn't list the key's time anymore.
            let others: Difference = Dictionary(uniqueKeysWithValues: (0..<40).map { ("c\($0)", .some(2)) })
            edit(process, others, 3)
            try process.save(fixture.domain)
            let command = fixture.store()
            fixture.look(command)
            fixture.edit(command, ["z": 1])
            try command.save(fixture.domain)
            #expect(fixture.values(try fixture.resumedStore())["a"] == nil)
        }
    }

    @Test("After a restart, the time when an edit was made decides, and not when it arrived")
    func timeOfEdit() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["b": 0])
            try first.save(fixture.domain)
            let now = Timestamp.now()
            fixture.edit(first, ["a": 1], at: Timestamp(nanoseconds: now.nanoseconds - 2))
            let process = fixture.store()
            fixture.look(process)
            fixture.edit(process, ["a": 2], at: Timestamp(nanoseconds: now.nanoseconds - 1))
            try process.save(fixture.domain)
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["a": 2, "b": 0])
            #expect(second.pending().isEmpty)
        }
    }

    @Test("A file created while no agent was running is reported as one change set")
    func createdWhileAway() throws {
        try withStoreFixture { fixture in
            _ = try fixture.storeWithLog()
            try RawFile.write("{ a = 1; b = 2; }", to: fixture.path)
            let second = try fixture.resumedStore()
            #expect(second.events == ["file: a b"])
            #expect(try fixture.resumedStore().events == ["file: a b"])
        }
    }

    @Test("A file created while no agent was running is merged with the pending edits of its domain")
    func createdBesideEdits() throws {
        try withStoreFixture { fixture in
            fixture.edit(try fixture.storeWithLog(), ["a": 1])
            try RawFile.write("{ b = 2; }", to: fixture.path)
            let second = try fixture.resumedStore()
            #expect(second.events == ["app: a", "file: b"])
            #expect(fixture.values(second) == ["a": 1, "b": "2"])
            try second.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 1, "b": "2"])
        }
    }

    @Test("The removal of a file while no agent was running is a change with the last known values as old ones")
    func removedWhileAway() throws {
        // The clock of files ticks every few milliseconds. A removal right after an edit has an earlier time, unless
        // the clock has ticked in between.
        let isDone = try eventually { try removeWhileAway() }
        #expect(isDone)
    }

    /// Removes a file right after an edit; returns false if the removal has a later time.
    private func removeWhileAway() throws -> Bool {
        var isDone = false
        try withStoreFixture { fixture in
            try RawFile.write("{ unlogged = 1; }", to: fixture.path)
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1, "b": 1, "c": 1])
            fixture.edit(first, ["c": nil])
            try first.save(fixture.domain)
            let time = Timestamp.now()
            fixture.edit(first, ["b": 2, "new": 2])
            unlink(fixture.path)
            let removal = try RawFile.status(fixture.directory).st_mtim
            if Int64(removal.tv_sec) * 1_000_000_000 + Int64(removal.tv_nsec) > time.nanoseconds { return }
            let second = try fixture.resumedStore()
            #expect(second.events.suffix(2) == ["file: a", "unknown"])
            #expect(
                second.records.suffix(2).first?.changeSet?.changes == [KeyChange(key: "a", old: 1, new: nil)])
            // These edits may have been made after the loss.
            #expect(fixture.values(second) == ["b": 2, "new": 2])
            #expect(second.pending().map(\.edits) == [2])

            let third = try fixture.resumedStore()
            #expect(third.records == second.records)
            try third.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["b": 2, "new": 2])
            isDone = true
        }
        return isDone
    }

    @Test("An edit made after a file was removed while no agent was running is applied when it arrives")
    func editAfterRemoval() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try first.save(fixture.domain)
            unlink(fixture.path)
            let time = Timestamp.now()
            let second = try fixture.resumedStore()
            fixture.edit(second, ["a": 2], at: time)
            #expect(fixture.values(second) == ["a": 2])
        }
    }

    @Test("A file removed while no agent was running stays removed after several restarts", arguments: [true, false])
    func staysRemoved(isSaved: Bool) throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try first.save(fixture.domain)
            if !isSaved { fixture.edit(first, ["a": nil]) }
            unlink(fixture.path)
            for _ in 0..<4 {
                let next = try fixture.resumedStore()
                #expect(next.pending().isEmpty)
                #expect(next.domains().isEmpty)
                #expect(!RawFile.exists(fixture.path))
            }
            // Later edits are applied as usual.
            fixture.edit(try fixture.resumedStore(), ["b": 2])
            let last = try fixture.resumedStore()
            #expect(fixture.values(last) == ["b": 2])
            #expect(last.pending().map(\.edits) == [1])
        }
    }

    @Test(
        "An unsaved edit loses to a later removal of the file, unless the removed file didn't have the key",
        arguments: [true, false])
    func unsavedAgainstRemoval(isLater: Bool) throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 0; }", to: fixture.path)
            let first = try fixture.storeWithLog()
            if !isLater { unlink(fixture.path) }
            letTimePass()
            fixture.edit(first, ["a": 1, "new": 1])
            letTimePass()
            if isLater { unlink(fixture.path) }
            for _ in 0..<2 {
                let next = try fixture.resumedStore()
                #expect(fixture.values(next) == (isLater ? ["new": 1] : ["a": 1, "new": 1]))
                // The removal is a change, or has lost to the edit.
                #expect(next.events == ["app: a new", isLater ? "file: a" : "file: ", "unknown"])
            }
        }
    }

    @Test("An edit that was saved while the log couldn't be written doesn't restore a removed file", arguments: [0, 2])
    func removedAfterOutdatedLog(restarts: Int) throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 0; }", to: fixture.path)
            var store = try fixture.storeWithLog()
            fixture.edit(store, ["a": 1, "new": 1])
            for _ in 0..<restarts { store = try fixture.resumedStore() }
            #expect(ChangeLogHeader.markOutdated(fixture.logPath))
            letTimePass()
            unlink(fixture.path)
            let next = try fixture.resumedStore()
            #expect(next.pending().isEmpty)
            #expect(fixture.values(next) == [:])
        }
    }

    @Test(
        "Unsaved edits survive a file that is unusable when the next agent starts",
        arguments: ["damaged", "beingWritten", "directory"])
    func unusableFile(trouble: String) throws {
        try withStoreFixture { fixture in
            let good = try PropertyListValue.dictionary(["a": 1, "b": 1]).write(as: .xml)
            try RawFile.write(good, to: fixture.path)
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 2, "b": nil])
            var writer: Int32 = -1
            switch trouble {
            case "damaged": try RawFile.write("{ torn", to: fixture.path)
            case "beingWritten": writer = open(fixture.path, O_WRONLY)
            default:
                unlink(fixture.path)
                try RawFile.makeDirectory(fixture.path)
            }
            let second = try fixture.resumedStore()
            #expect(second.pending().map(\.edits) == [2])
            if writer >= 0 { RawFile.close(writer) }
            // Another crash changes nothing.
            let third = try fixture.resumedStore()
            #expect(third.pending().map(\.edits) == [2])
            if trouble == "directory" { rmdir(fixture.path) }
            try third.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2])
            if trouble == "damaged" {
                #expect(try RawFile.read(fixture.path + ".damaged-1") == Array("{ torn".utf8))
            }
        }
    }

    @Test(
        "An edit survives a program that was in the middle of writing the file when the agent started",
        arguments: [true, false], [0, 1])
    func editWhileBeingWritten(isLogged: Bool, restarts: Int) throws {
        try withStoreFixture { fixture in
            let loaded: DomainValues = ["a": 1, "b": 1]
            if !isLogged { try RawFile.write(PropertyListValue.dictionary(loaded).write(as: .xml), to: fixture.path) }
            let first = try fixture.storeWithLog()
            if isLogged { fixture.edit(first, ["a": 1, "b": 1]) } else { fixture.edit(first, ["c": 1]) }
            try first.save(fixture.domain)
            let writer = open(fixture.path, O_WRONLY | O_TRUNC)
            var store = try fixture.resumedStore()
            fixture.edit(store, ["a": 2])
            for _ in 0..<restarts { store = try fixture.resumedStore() }
            var written = loaded
            written["theirs"] = 1
            if !isLogged { written["c"] = 1 }
            let bytes = try PropertyListValue.dictionary(written).write(as: .xml)
            #expect(write(writer, bytes, bytes.count) == bytes.count)
            RawFile.close(writer)
            fixture.look(store)
            written["a"] = 2
            #expect(fixture.values(store) == written)
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == written)
        }
    }

    @Test(
        "A problem reported by an earlier agent is reported as recovered once it is solved",
        arguments: ["whole", "beingWritten", "missing", "new"], [false, true])
    func recovered(file: String, hasLeftTheLog: Bool) throws {
        try withStoreFixture { fixture in
            let domain = fixture.domain
            let hadFile = file != "new"
            if hadFile { try RawFile.write("{ torn", to: fixture.path) }
            let first = try fixture.storeWithLog()
            if hadFile {
                fixture.look(first)
            } else {
                fixture.edit(first, ["a": 1])
                first.transition { ((), $0.failed(domain, because: DefaultsError(.notSaved, "No."), now: .now())) }
            }
            #expect(first.events == (hadFile ? ["damaged"] : ["app: a", "unsaved"]))
            if hasLeftTheLog {
                first.setLogCapacity(.init(records: 1))
                for value in 1...2 {
                    first.edit(
                        EditRequest(
                            domain: try Domain("a.b"), values: ["a": .integer(Int64(value))], writer: .testApp))
                }
                first.beginJournal()
                #expect(first.events == ["app: a"])
            }
            if file == "missing" { unlink(fixture.path) } else { try RawFile.write("{ b = 1; }", to: fixture.path) }
            let writer = file == "beingWritten" ? open(fixture.path, O_WRONLY) : -1
            if writer >= 0 { ftruncate(writer, 5) }

            let second = try fixture.resumedStore()
            if writer >= 0 {
                #expect(!second.events.contains("recovered"))
                RawFile.close(writer)
                try RawFile.write("{ b = 1; }", to: fixture.path)
                fixture.look(second)
            }
            try second.save(domain)
            #expect(second.events.last == "recovered")
            #expect(second.events.count { $0 == "recovered" } == 1)
        }
    }

    @Test("Edits of a damaged file survive a crash while it is being replaced")
    func crashWhileReplacingDamage() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ torn", to: fixture.path)
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try crash(first, fixture, isReplaced: false)
            let second = try fixture.resumedStore()
            #expect(second.pending().map(\.edits) == [1])
        }
    }

    /// Simulates a program that writes the values it had read, together with a new key.
    private func rewrite(_ fixture: StoreFixture, _ loaded: DomainValues) throws {
        let values = loaded.merging(["theirs": 1]) { $1 }
        try RawFile.replace(fixture.path, with: PropertyListValue.dictionary(values).write(as: .xml))
    }

    @Test(
        "A program that read the file before an edit doesn't revert the edit, even across an agent restart",
        arguments: ["after the start", "before the start"], [true, false])
    func staleWriter(writing: String, isForeignBase: Bool) throws {
        try withStoreFixture { fixture in
            if isForeignBase {
                try RawFile.write(PropertyListValue.dictionary(["old": 1]).write(as: .xml), to: fixture.path)
            }
            let first = try fixture.storeWithLog()
            if !isForeignBase {
                fixture.edit(first, ["old": 1])
                try first.save(fixture.domain)
            }
            let loaded = try DomainValues.read(fixture.path)
            fixture.edit(first, ["mine": 1])
            try first.save(fixture.domain)

            if writing == "before the start" { try rewrite(fixture, loaded) }
            let second = try fixture.resumedStore()
            if writing == "after the start" {
                try rewrite(fixture, loaded)
                fixture.look(second)
            }
            #expect(fixture.values(second) == ["old": 1, "mine": 1, "theirs": 1])
            try second.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["old": 1, "mine": 1, "theirs": 1])
            #expect(!second.events.contains("file: mine"))
        }
    }

    @Test("A program that removes a key it read before a restart does remove it")
    func staleRemoval() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1, "b": 1])
            try first.save(fixture.domain)
            _ = try RawFile.read(fixture.path)
            let second = try fixture.resumedStore()
            try RawFile.replace(fixture.path, with: PropertyListValue.dictionary(["b": 1]).write(as: .xml))
            fixture.look(second)
            #expect(fixture.values(second) == ["b": 1])
        }
    }

    @Test("A version that was still being written when an agent ended is merged by the next agent")
    func displacedAcrossRestart() throws {
        try withStoreFixture { fixture in
            var writer: Int32 = -1
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["old": 1])
                try first.save(fixture.domain)
                _ = first.examineDisplaced()
                writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                fixture.edit(first, ["mine": 1])
                try first.save(fixture.domain, onObstacle: .override)
                #expect(first.examineDisplaced())
                #expect(first.displacedPaths.count == 1)
            }

            let second = try fixture.resumedStore()
            #expect(second.examineDisplaced())
            let bytes = try PropertyListValue.dictionary(["old": 1, "theirs": 1]).write(as: .xml)
            #expect(ftruncate(writer, 0) == 0)
            try RawFile.write(bytes, to: writer)
            close(writer)
            #expect(eventually { second.examineDisplaced() && fixture.values(second)["theirs"] == 1 })
            #expect(fixture.values(second) == ["old": 1, "mine": 1, "theirs": 1])
            try second.save(fixture.domain)
            #expect(eventually { !second.examineDisplaced() })
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("A displaced file that is found again reverts nothing that was written since")
    func displacedBeforeLaterWrite() throws {
        try withStoreFixture { fixture in
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["old": 1, "theirs": 0])
                try first.save(fixture.domain)
                _ = first.examineDisplaced()
                let writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                fixture.edit(first, ["mine": 1])
                try first.save(fixture.domain, onObstacle: .override)
                let bytes = try PropertyListValue.dictionary(["old": 1, "theirs": 1]).write(as: .xml)
                #expect(ftruncate(writer, 0) == 0)
                try RawFile.write(bytes, to: writer)
                close(writer)
                #expect(eventually { first.examineDisplaced() && fixture.values(first)["theirs"] == 1 })
                try first.save(fixture.domain)
                // The program reads and replaces the file, and the agent is killed right after that.
                let newer = try PropertyListValue.dictionary(["old": 1, "mine": 1, "theirs": 2]).write(as: .xml)
                try RawFile.write(newer, to: fixture.path + ".new")
                #expect(rename(fixture.path + ".new", fixture.path) == 0)
                fixture.look(first)
                #expect(first.displacedPaths.count >= 1)
            }
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["old": 1, "mine": 1, "theirs": 2])
            #expect(eventually { !second.examineDisplaced() })
            #expect(fixture.values(second) == ["old": 1, "mine": 1, "theirs": 2])
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test(
        "A displaced file that is found again removes no key that was added while no agent ran", arguments: [0, 1, 2])
    func displacedBeforeUnseenWrite(restarts: Int) throws {
        try withStoreFixture { fixture in
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["old": 1])
                try first.save(fixture.domain)
                _ = first.examineDisplaced()
                let writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                fixture.edit(first, ["mine": 1])
                try first.save(fixture.domain, onObstacle: .override)
                let bytes = try PropertyListValue.dictionary(["old": 1, "theirs": 1]).write(as: .xml)
                #expect(ftruncate(writer, 0) == 0)
                try RawFile.write(bytes, to: writer)
                close(writer)
                // The agent is killed before it saves that.
                #expect(eventually { first.examineDisplaced() && fixture.values(first)["theirs"] == 1 })
            }
            try fixture.writeLater(["old": 1, "mine": 1, "other": 1])
            for _ in 0..<restarts { _ = try fixture.resumedStore() }
            let last = try fixture.resumedStore()
            _ = last.examineDisplaced()
            #expect(fixture.values(last) == ["old": 1, "mine": 1, "theirs": 1, "other": 1])
            try last.save(fixture.domain)
            #expect(eventually { !last.examineDisplaced() })
            #expect(fixture.values(last) == ["old": 1, "mine": 1, "theirs": 1, "other": 1])
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("A program that continues from its own version across a restart doesn't revert what overruled it")
    func overruledBeforeRestart() throws {
        try withStoreFixture { fixture in
            func write(_ values: DomainValues, _ store: Store) throws {
                try RawFile.write(PropertyListValue.dictionary(values).write(as: .xml), to: fixture.path + ".new")
                #expect(rename(fixture.path + ".new", fixture.path) == 0)
                _ = store.reload([fixture.domain], afterEvent: true)
                try store.save(fixture.domain)
            }
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["c": 4, "dead": 1])
                try first.save(fixture.domain)
                fixture.edit(first, ["c": 5, "dead": nil])
                try first.save(fixture.domain)
                try write(["c": 4, "dead": 1, "f": 1], first)
                #expect(fixture.values(first) == ["c": 5, "f": 1])
            }
            let second = try fixture.resumedStore()
            fixture.edit(second, ["c": 6])
            try second.save(fixture.domain)
            try write(["c": 4, "dead": 1, "f": 2, "g": 1], second)
            #expect(fixture.values(second) == ["c": 6, "f": 2, "g": 1])
        }
    }

    @Test(
        "A late write to a displaced file is merged even after more saves and agent restarts",
        arguments: [1, 5], [0, 3])
    func displacedBeforeOthers(replacements: Int, restarts: Int) throws {
        try withStoreFixture { fixture in
            var writer: Int32 = -1
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["old": 1, "other": 1])
                try first.save(fixture.domain)
                _ = first.examineDisplaced()
                writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                for number in 0...replacements {
                    fixture.edit(first, ["mine": .integer(Int64(number)), "old": .integer(Int64(number + 2))])
                    try first.save(fixture.domain, onObstacle: .override)
                }
                #expect(first.examineDisplaced())
            }

            for number in 0..<restarts {
                let next = try fixture.resumedStore()
                fixture.edit(next, ["later": .integer(Int64(number))])
                try next.save(fixture.domain)
                #expect(next.examineDisplaced())
            }
            let second = try fixture.resumedStore()
            fixture.edit(second, ["later": -1])
            try second.save(fixture.domain)
            let bytes = try PropertyListValue.dictionary(["old": 1, "other": 1, "theirs": 1]).write(as: .xml)
            #expect(ftruncate(writer, 0) == 0)
            try RawFile.write(bytes, to: writer)
            close(writer)
            #expect(eventually { second.examineDisplaced() && fixture.values(second)["theirs"] == 1 })
            let merged: DomainValues = [
                "old": .integer(Int64(replacements + 2)), "other": 1, "mine": .integer(Int64(replacements)),
                "later": -1,
                "theirs": 1,
            ]
            #expect(fixture.values(second) == merged)
            try second.save(fixture.domain)
            #expect(eventually { !second.examineDisplaced() })
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }
}
