import Glibc
import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

/// Each store here is dropped without a farewell, as a crash does.
@Suite("A store that takes up an earlier one's log")
struct ResumeTests {
    @Test("An unchanged file makes no record, and the log goes on")
    func unchanged() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1, "b": .date(PropertyListDate(secondsSinceReferenceDate: 0.5))])
            try first.publish(fixture.domain)
            fixture.edit(first, ["a": 2])
            try first.publish(fixture.domain)

            let second = try fixture.resumedStore()
            #expect(second.cursor == first.cursor)
            #expect(second.records == first.records)
            #expect(fixture.values(second)["a"] == 2)
            #expect(second.pending().isEmpty)
            #expect(fixture.edit(second, ["a": 3]) == 3)
        }
    }

    @Test("Unsaved edits are pending again, and are published once")
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
            // Once more, before they are published.
            let third = try fixture.resumedStore()
            #expect(third.pending().map(\.edits) == [3])
            try third.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 3, "c": 1])
            #expect(third.records == first.records)

            let last = try fixture.resumedStore()
            #expect(last.pending().isEmpty)
            #expect(last.records == first.records)
        }
    }

    @Test("Who wrote the file before the crash, and writes the same again, takes no edit back")
    func sameAgain() throws {
        try withStoreFixture { fixture in
            let bytes = try PropertyListValue.dictionary(["a": 1, "b": 1]).write(as: .xml)
            try RawFile.write(bytes, to: fixture.path)
            fixture.edit(try fixture.storeWithLog(), ["a": 2])

            let second = try fixture.resumedStore()
            try second.publish(fixture.domain)
            try RawFile.write(bytes, to: fixture.path)
            #expect(second.look(at: [fixture.domain]).isEmpty)
            #expect(fixture.values(second) == ["a": 2, "b": 1])
            try second.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 1])
        }
    }

    @Test("Edits of a domain that has no file yet are pending again")
    func newDomain() throws {
        try withStoreFixture { fixture in
            fixture.edit(try fixture.storeWithLog(), ["a": 1])
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["a": 1])
            #expect(second.pending().map(\.edits) == [1])
            #expect(second.events == ["app: a"])
        }
    }

    @Test("An unsaved edit stands when someone changed other keys of the file meanwhile, and not when its own")
    func otherKeysChanged() throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["a": 1, "b": 1, "c": 1]).write(as: .xml), to: fixture.path)
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 2, "b": 2, "new": 2])
            try fixture.writeLater(["a": 1, "b": 5, "c": 5])

            let second = try fixture.resumedStore()
            #expect(second.events.last == "unknown")
            #expect(fixture.values(second) == ["a": 2, "b": 5, "c": 5, "new": 2])
            try second.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 5, "c": 5, "new": 2])
        }
    }

    @Test("A log that can't be kept in a file goes on as another one, and leaves none behind that isn't true")
    func noLogFile() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            let recovered = try #require(ChangeLogFile.recover(from: fixture.logPath, limits: Frame.messageLimits))
            let log = ChangeLog(epoch: recovered.epoch, head: recovered.head, records: recovered.records)
            let second = Store(directory: PreferencesDirectory(path: fixture.directory), log: log)
            // A directory is in the way of the new file.
            unlink(fixture.logPath)
            #expect(mkdir(fixture.logPath, 0o700) == 0)
            try RawFile.write("", to: fixture.logPath + "/inside")
            defer { removeTree(fixture.logPath) }
            #expect(throws: DefaultsError.self) { try second.keepLog(at: fixture.logPath) }
            #expect(second.cursor.epoch != recovered.epoch)
            #expect(second.state.withLock { $0.outbox == nil })
            #expect(namesOfFiles(in: fixture.logPath) == ["inside"])
        }
    }

    /// Edits, and then crashes in the middle of publishing: the file is about to be replaced, and perhaps has been.
    private func crash(_ store: Store, _ fixture: StoreFixture, isReplaced: Bool) throws {
        let plan = try #require(store.state.withLock { $0.plan(for: fixture.domain) })
        let bytes = try PropertyListValue.dictionary(plan.values).write(as: .xml)
        store.state.withLock { $0.intend(plan, for: fixture.domain, hash: ContentHash(bytes)) }
        store.writeLog()
        if isReplaced { try RawFile.replace(fixture.path, with: bytes) }
    }

    @Test(
        "A crash in the middle of publishing loses no edit, and repeats none", arguments: [true, false], [true, false])
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
            try second.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 1, "b": 1])
        }
    }

    @Test("A crash in the middle of publishing is understood when the log was written anew just then")
    func crashAfterRewriting() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            for number in Int64(0)..<50 { fixture.edit(first, ["n": .integer(number)]) }
            try crash(first, fixture, isReplaced: true)
            first.logFile.withLock { $0.file?.sizeLimit = 0 }
            // A record of another domain makes the log's file oversized.
            first.edit(EditRequest(domain: Domain(.global), values: ["x": 1], writer: .testApp))
            let count = first.records.count
            let second = try fixture.resumedStore()
            #expect(second.records.count == count)
            #expect(second.pending().map(\.domain) == [Domain(.global)])
        }
    }

    @Test("What happened to a file while no agent ran is not known, and that is said")
    func changedWhileAway() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try first.publish(fixture.domain)
            try RawFile.write("{ a = 2; z = 3; }", to: fixture.path)

            let second = try fixture.resumedStore()
            // The key that the log knows is told with its old value; of all others nobody knows.
            #expect(second.events == ["app: a", "file: a", "unknown"])
            #expect(fixture.values(second) == ["a": "2", "z": "3"])
            #expect(second.pending().isEmpty)
            // Said once.
            #expect(try fixture.resumedStore().events == ["app: a", "file: a", "unknown"])
        }
    }

    @Test("A file that was put back while no agent ran, to what it once held, stays so")
    func restoredWhileAway() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try first.publish(fixture.domain)
            let backup = try RawFile.read(fixture.path)
            fixture.edit(first, ["a": 2, "b": 2])
            try first.publish(fixture.domain)
            letTimePass()
            try RawFile.replace(fixture.path, with: backup)

            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["a": 1])
            #expect(second.pending().isEmpty)
            #expect(second.events.last == "unknown")
        }
    }

    @Test("Edits that are younger than a change while no agent ran are still published, older ones not")
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

    @Test("A file that came while no agent ran is one change set")
    func createdWhileAway() throws {
        try withStoreFixture { fixture in
            _ = try fixture.storeWithLog()
            try RawFile.write("{ a = 1; b = 2; }", to: fixture.path)
            let second = try fixture.resumedStore()
            #expect(second.events == ["file: a b"])
            #expect(try fixture.resumedStore().events == ["file: a b"])
        }
    }

    @Test("A file that came while no agent ran is merged with the edits that have no file yet")
    func createdBesideEdits() throws {
        try withStoreFixture { fixture in
            fixture.edit(try fixture.storeWithLog(), ["a": 1])
            try RawFile.write("{ b = 2; }", to: fixture.path)
            let second = try fixture.resumedStore()
            #expect(second.events == ["app: a", "file: b"])
            #expect(fixture.values(second) == ["a": 1, "b": "2"])
            try second.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 1, "b": "2"])
        }
    }

    @Test("A file that was removed while no agent ran is gone, and that is said")
    func removedWhileAway() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try first.publish(fixture.domain)
            unlink(fixture.path)
            letTimePass()
            let second = try fixture.resumedStore()
            #expect(second.events == ["app: a", "unknown"])
            #expect(fixture.values(second) == [:])
        }
    }

    @Test("A file that was removed while no agent ran stays so, however often one starts", arguments: [true, false])
    func staysRemoved(isSaved: Bool) throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1])
            try first.publish(fixture.domain)
            if !isSaved { fixture.edit(first, ["a": nil]) }
            unlink(fixture.path)
            for _ in 0..<4 {
                let next = try fixture.resumedStore()
                #expect(next.pending().isEmpty)
                #expect(next.domains().isEmpty)
                #expect(!RawFile.exists(fixture.path))
            }
            // What is set after that is.
            fixture.edit(try fixture.resumedStore(), ["b": 2])
            let last = try fixture.resumedStore()
            #expect(fixture.values(last) == ["b": 2])
            #expect(last.pending().map(\.edits) == [1])
        }
    }

    @Test(
        "Unsaved edits survive a file that can't be taken when the next agent starts",
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
            if writer >= 0 { close(writer) }
            // And the next crash changes nothing about it.
            let third = try fixture.resumedStore()
            #expect(third.pending().map(\.edits) == [2])
            if trouble == "directory" { rmdir(fixture.path) }
            try third.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2])
            if trouble == "damaged" {
                #expect(try RawFile.read(fixture.path + ".damaged-1") == Array("{ torn".utf8))
            }
        }
    }

    @Test(
        "An edit stands against a program that was half through writing the file when the agent started",
        arguments: [true, false], [0, 1])
    func editWhileBeingWritten(isLogged: Bool, restarts: Int) throws {
        try withStoreFixture { fixture in
            let loaded: DomainValues = ["a": 1, "b": 1]
            if !isLogged { try RawFile.write(PropertyListValue.dictionary(loaded).write(as: .xml), to: fixture.path) }
            let first = try fixture.storeWithLog()
            if isLogged { fixture.edit(first, ["a": 1, "b": 1]) } else { fixture.edit(first, ["c": 1]) }
            try first.publish(fixture.domain)
            let writer = open(fixture.path, O_WRONLY | O_TRUNC)
            var store = try fixture.resumedStore()
            fixture.edit(store, ["a": 2])
            for _ in 0..<restarts { store = try fixture.resumedStore() }
            var written = loaded
            written["theirs"] = 1
            if !isLogged { written["c"] = 1 }
            let bytes = try PropertyListValue.dictionary(written).write(as: .xml)
            #expect(write(writer, bytes, bytes.count) == bytes.count)
            close(writer)
            fixture.look(store)
            written["a"] = 2
            #expect(fixture.values(store) == written)
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == written)
        }
    }

    @Test(
        "What an earlier agent told of as wrong is told to be over when it is",
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
                first.transition { ((), $0.failed(domain, DefaultsError(.notSaved, "No."), now: .now())) }
            }
            #expect(first.events == (hadFile ? ["damaged"] : ["app: a", "unsaved"]))
            if hasLeftTheLog {
                first.setLogCapacity(.init(records: 1))
                for value in 1...2 {
                    first.edit(
                        EditRequest(
                            domain: try Domain("a.b"), values: ["a": .integer(Int64(value))], writer: .testApp))
                }
                try first.keepLog(at: fixture.logPath)
                #expect(first.events == ["app: a"])
            }
            if file == "missing" { unlink(fixture.path) } else { try RawFile.write("{ b = 1; }", to: fixture.path) }
            let writer = file == "beingWritten" ? open(fixture.path, O_WRONLY) : -1
            if writer >= 0 { ftruncate(writer, 5) }

            let second = try fixture.resumedStore()
            if writer >= 0 {
                #expect(!second.events.contains("recovered"))
                close(writer)
                try RawFile.write("{ b = 1; }", to: fixture.path)
                fixture.look(second)
            }
            try second.publish(domain)
            #expect(second.events.last == "recovered")
            #expect(second.events.count { $0 == "recovered" } == 1)
        }
    }

    @Test("Edits of a damaged file survive a crash in the middle of replacing it")
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

    /// A program that has read the file writes what it read, with a key of its own.
    private func rewrite(_ fixture: StoreFixture, _ loaded: DomainValues) throws {
        let values = loaded.merging(["theirs": 1]) { $1 }
        try RawFile.replace(fixture.path, with: PropertyListValue.dictionary(values).write(as: .xml))
    }

    @Test(
        "A program that read the file before an edit takes nothing back, though an agent's restart comes between",
        arguments: ["after the start", "before the start"], [true, false])
    func staleWriter(writing: String, isForeignBase: Bool) throws {
        try withStoreFixture { fixture in
            if isForeignBase {
                try RawFile.write(PropertyListValue.dictionary(["old": 1]).write(as: .xml), to: fixture.path)
            }
            let first = try fixture.storeWithLog()
            if !isForeignBase {
                fixture.edit(first, ["old": 1])
                try first.publish(fixture.domain)
            }
            let loaded = try DomainValues.read(fixture.path)
            fixture.edit(first, ["mine": 1])
            try first.publish(fixture.domain)

            if writing == "before the start" { try rewrite(fixture, loaded) }
            let second = try fixture.resumedStore()
            if writing == "after the start" {
                try rewrite(fixture, loaded)
                fixture.look(second)
            }
            #expect(fixture.values(second) == ["old": 1, "mine": 1, "theirs": 1])
            try second.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["old": 1, "mine": 1, "theirs": 1])
            #expect(!second.events.contains("file: mine"))
        }
    }

    @Test("A program that removes what it read before a restart has removed it")
    func staleRemoval() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            fixture.edit(first, ["a": 1, "b": 1])
            try first.publish(fixture.domain)
            let second = try fixture.resumedStore()
            try RawFile.replace(fixture.path, with: PropertyListValue.dictionary(["b": 1]).write(as: .xml))
            fixture.look(second)
            #expect(fixture.values(second) == ["b": 1])
        }
    }

    @Test("A version that was still being written when an agent ended is merged by the next one")
    func displacedAcrossRestart() throws {
        try withStoreFixture { fixture in
            var writer: Int32 = -1
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["old": 1])
                try first.publish(fixture.domain)
                _ = first.examineDisplaced()
                writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                fixture.edit(first, ["mine": 1])
                try first.publish(fixture.domain, .override)
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
            try second.publish(fixture.domain)
            #expect(eventually { !second.examineDisplaced() })
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("A replaced version that is found once more takes back nothing that was written since")
    func displacedBeforeLaterWrite() throws {
        try withStoreFixture { fixture in
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["old": 1, "theirs": 0])
                try first.publish(fixture.domain)
                _ = first.examineDisplaced()
                let writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                fixture.edit(first, ["mine": 1])
                try first.publish(fixture.domain, .override)
                let bytes = try PropertyListValue.dictionary(["old": 1, "theirs": 1]).write(as: .xml)
                #expect(ftruncate(writer, 0) == 0)
                try RawFile.write(bytes, to: writer)
                close(writer)
                #expect(eventually { first.examineDisplaced() && fixture.values(first)["theirs"] == 1 })
                try first.publish(fixture.domain)
                // The program reads the file and replaces it, and the agent is killed at that.
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

    @Test("A program that goes on from what it wrote itself before a restart takes back nothing that was overruled")
    func overruledBeforeRestart() throws {
        try withStoreFixture { fixture in
            func write(_ values: DomainValues, _ store: Store) throws {
                try RawFile.write(PropertyListValue.dictionary(values).write(as: .xml), to: fixture.path + ".new")
                #expect(rename(fixture.path + ".new", fixture.path) == 0)
                _ = store.look(at: [fixture.domain], isTold: true)
                try store.publish(fixture.domain)
            }
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["c": 4, "dead": 1])
                try first.publish(fixture.domain)
                fixture.edit(first, ["c": 5, "dead": nil])
                try first.publish(fixture.domain)
                try write(["c": 4, "dead": 1, "f": 1], first)
                #expect(fixture.values(first) == ["c": 5, "f": 1])
            }
            let second = try fixture.resumedStore()
            fixture.edit(second, ["c": 6])
            try second.publish(fixture.domain)
            try write(["c": 4, "dead": 1, "f": 2, "g": 1], second)
            #expect(fixture.values(second) == ["c": 6, "f": 2, "g": 1])
        }
    }

    @Test(
        "What a program writes to a version that an agent replaced is merged, however often the file and agents were since",
        arguments: [1, 5], [0, 3])
    func displacedBeforeOthers(replacements: Int, restarts: Int) throws {
        try withStoreFixture { fixture in
            var writer: Int32 = -1
            do {
                let first = try fixture.storeWithLog()
                fixture.edit(first, ["old": 1, "other": 1])
                try first.publish(fixture.domain)
                _ = first.examineDisplaced()
                writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                for number in 0...replacements {
                    fixture.edit(first, ["mine": .integer(Int64(number)), "old": .integer(Int64(number + 2))])
                    try first.publish(fixture.domain, .override)
                }
                #expect(first.examineDisplaced())
            }

            for number in 0..<restarts {
                let next = try fixture.resumedStore()
                fixture.edit(next, ["later": .integer(Int64(number))])
                try next.publish(fixture.domain)
                #expect(next.examineDisplaced())
            }
            let second = try fixture.resumedStore()
            fixture.edit(second, ["later": -1])
            try second.publish(fixture.domain)
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
            try second.publish(fixture.domain)
            #expect(eventually { !second.examineDisplaced() })
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }
}
