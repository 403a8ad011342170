import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Stores that are started many times")
struct ManyStartsTests {
    private func size(_ path: String) throws -> Int { Int(try RawFile.status(path).st_size) }

    /// Fills the log with the marks that a life leaves: of replaced versions, unsaved edits and single hosts.
    private func fill(_ fixture: StoreFixture) throws {
        let store = try fixture.storeWithLog()
        for number in 0..<20 {
            fixture.edit(store, ["a": .integer(Int64(number))])
            try store.save(fixture.domain)
        }
        let host = Domain(fixture.domain.name, host: .only("AB-1"))
        try RawFile.makeDirectory(fixture.directory + "/ByHost")
        store.edit(EditRequest(domain: host, values: ["h": 1], writer: .testApp))
        try store.save(host)
        for number in 0..<50 {
            try RawFile.write("{ a = \(number); }", to: "\(fixture.directory)/org.example.app\(number).plist")
        }
        fixture.edit(store, ["unsaved": .string(String(repeating: "x", count: 60_000))])
    }

    @Test(
        "Starting again and again adds nothing to the log, however the store before has ended",
        arguments: [true, false])
    func noGrowth(isClosed: Bool) throws {
        try withStoreFixture { fixture in
            try fill(fixture)
            // The first start records what the last session left unsaved, and the files that it hadn't read.
            var store = try fixture.resumedStore()
            let first = try size(fixture.logPath)
            for number in 1...20 {
                if isClosed { store.closeJournal() }
                store = try fixture.resumedStore()
                #expect(try size(fixture.logPath) == first, "start \(number)")
            }
            #expect(store.pending().map(\.edits) == [1])
            #expect(fixture.values(store)["a"] == 19)
        }
    }

    @Test("A problem that lasts is added to the log once, not at every start")
    func lastingProblem() throws {
        try withStoreFixture { fixture in
            let elsewhere = fixture.directory + "-elsewhere"
            try RawFile.write("{ a = 1; }", to: elsewhere)
            symlink(elsewhere, fixture.path)
            var store = try fixture.storeWithLog()
            fixture.look(store)
            fixture.edit(store, ["b": 1])
            // A file that a link leads to isn't replaced if it is damaged, so the edit stays unsaved.
            try RawFile.write("", to: elsewhere)
            fixture.look(store)
            try? store.save(fixture.domain)
            func start() throws {
                store.closeJournal()
                store = try fixture.resumedStore()
                try? store.save(fixture.domain)
            }
            for _ in 0..<2 { try start() }
            let (head, first) = (store.cursor.revision, try size(fixture.logPath))
            for number in 1...20 {
                try start()
                #expect(try store.cursor.revision == head && size(fixture.logPath) == first, "start \(number)")
            }
            #expect(fixture.values(store)["b"] == 1)
            // Another problem is reported, and so is the first one when it comes back.
            for text in ["{ a = ", "", "{ a = "] {
                try RawFile.write(text, to: elsewhere)
                fixture.look(store)
            }
            #expect(store.cursor.revision == head + 3)
            // Once it is over, the next start adds nothing.
            try RawFile.write("{ a = 1; }", to: elsewhere)
            fixture.look(store)
            try store.save(fixture.domain)
            let last = store.cursor.revision
            store.closeJournal()
            let size = try size(fixture.logPath)
            try start()
            store.closeJournal()
            #expect(try self.size(fixture.logPath) == size && store.cursor.revision == last)
        }
    }

    @Test("With an edit in each session, the log grows by about as much each time")
    func steadyGrowth() throws {
        try withStoreFixture { fixture in
            try fill(fixture)
            var sizes: [Int] = []
            for number in 0..<30 {
                let store = try fixture.resumedStore()
                fixture.edit(store, ["unsaved": nil, "b": .integer(Int64(number))])
                try store.save(fixture.domain)
                if number % 2 == 0 { store.closeJournal() }
                sizes.append(try size(fixture.logPath))
            }
            let steps = zip(sizes.dropFirst(), sizes).map { $0 - $1 }
            #expect(steps.dropFirst().allSatisfy { $0 < 2_000 }, "\(steps)")
        }
    }

    @Test("A log to which earlier versions added all marks at every start is replaced by a small one")
    func shrinking() throws {
        try withStoreFixture { fixture in
            try fill(fixture)
            // Such a log has the marks over and over.
            let marks = try fixture.resumedStore().state.withLock { $0.marks() }
            let earlier = try #require(try intactLog(from: fixture.logPath, limits: PropertyListLimits()))
            let file = try ChangeLogFile(
                continuing: earlier, epoch: earlier.epoch, sizeLimit: 32 << 20)
            while try size(fixture.logPath) < 20 << 20 { try file.append(marks) }
            let store = try fixture.resumedStore()
            #expect(store.journal?.needsMaintenance == true)
            store.maintainJournal(HistoryLimits())
            #expect(try size(fixture.logPath) < 1 << 20)
            #expect(store.journal?.needsMaintenance == false && store.pending().map(\.edits) == [1])
            let again = try fixture.resumedStore()
            #expect(again.records == store.records && again.cursor == store.cursor)
            #expect(again.pending().map(\.edits) == [1])
        }
    }
}
