import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// Edits whose keys are excluded from the log: the log knows that they were made, but not what they were.
@Suite("Edits of excluded keys")
struct ExcludedEditTests {
    private let exclusions = HistoryExclusions(["*/password"])

    /// Returns a store that resumes the log of an earlier one, as an agent does after a crash.
    private func resume(_ fixture: StoreFixture, excluding exclusions: HistoryExclusions? = nil) throws -> Store {
        let recovered = try intactLog(from: fixture.logPath, limits: PropertyListLimits())
        let log = recovered.map { ChangeLog(epoch: $0.epoch, head: $0.head, records: $0.records) } ?? ChangeLog()
        let store = Store(
            directory: PreferencesDirectory(path: fixture.directory), log: log, journal: fixture.journal)
        _ = try store.start(resuming: recovered)
        store.beginJournal(continuing: recovered, excluding: exclusions ?? self.exclusions)
        return store
    }

    private func begin(_ fixture: StoreFixture, _ values: DomainValues) throws -> Store {
        try RawFile.write(PropertyListValue.dictionary(values).write(as: .xml), to: fixture.path)
        return try resume(fixture)
    }

    private func replace(_ fixture: StoreFixture, with values: DomainValues) throws {
        letTimePass()
        try RawFile.replace(fixture.path, with: PropertyListValue.dictionary(values).write(as: .xml))
    }

    @Test("A program that read the file before a restart doesn't undo a saved edit", arguments: [false, true])
    func heldValues(hasOther: Bool) throws {
        try withStoreFixture { fixture in
            let first = try begin(fixture, ["password": "p0", "user": "ada", "x": 1])
            fixture.edit(first, hasOther ? ["password": "p1", "user": "eve"] : ["password": "p1"])
            try first.save(fixture.domain)
            let second = try resume(fixture)
            try replace(fixture, with: ["password": "p0", "user": "ada", "x": 2])
            fixture.look(second)
            let user: PropertyListValue = hasOther ? "eve" : "ada"
            #expect(fixture.values(second) == ["password": "p1", "user": user, "x": 2])
        }
    }

    @Test("A program that read the file after a restart may change an excluded key beside an edit that it hasn't seen")
    func changedAfterRestart() throws {
        try withStoreFixture { fixture in
            let first = try begin(fixture, ["password": "p0", "x": 1])
            fixture.edit(first, ["password": "p1"])
            try first.save(fixture.domain)
            let second = try resume(fixture)
            let seen = try DomainValues.read(fixture.path)
            fixture.edit(second, ["x": 2])
            try second.save(fixture.domain)
            try replace(fixture, with: seen.merging(["password": "p2"]) { $1 })
            fixture.look(second)
            #expect(fixture.values(second) == ["password": "p2", "x": 2])
        }
    }

    @Test("An unread version isn't taken for the one that a program has held across a restart")
    func heldAcrossRestart() throws {
        try withStoreFixture { fixture in
            let first = try begin(fixture, ["password": "p0", "x": 1])
            let held = try DomainValues.read(fixture.path)
            for edit in [["password": "p1"], ["x": 2]] as [Difference] {
                fixture.edit(first, edit)
                try first.save(fixture.domain)
            }
            let second = try resume(fixture)
            try replace(fixture, with: held.merging(["y": 1]) { $1 })
            fixture.look(second)
            #expect(fixture.values(second) == ["password": "p1", "x": 2, "y": 1])
        }
    }

    @Test("A displaced file that an agent left doesn't undo a saved edit", arguments: [1, 2], [false, true])
    func displaced(edits: Int, isRemoval: Bool) throws {
        try withStoreFixture { fixture in
            let writer = try {
                let first = try begin(fixture, ["password": "p0", "x": 1])
                fixture.edit(first, ["user": "bob"])
                try first.save(fixture.domain)
                let writer = open(fixture.path, O_RDWR | O_CLOEXEC)
                for number in 1...edits {
                    let isLast = number == edits
                    fixture.edit(first, ["password": isLast && isRemoval ? nil : .string("p\(number)")])
                    try first.save(fixture.domain, onObstacle: .override)
                }
                return writer
            }()
            letTimePass()
            let values: DomainValues = ["password": "p0", "user": "bob", "x": 2]
            try RawFile.write(PropertyListValue.dictionary(values).write(as: .xml), to: writer)
            close(writer)
            // The first store is gone, and hasn't examined the displaced file.
            let second = try resume(fixture)
            _ = second.examineDisplaced()
            #expect(fixture.values(second)["password"] == (isRemoval ? nil : .string("p\(edits)")))
            #expect(fixture.values(second)["x"] == 2)
        }
    }

    @Test("An edit that is lost with the agent is lost as a whole, for good, and is reported")
    func lost() throws {
        try withStoreFixture { fixture in
            let first = try begin(fixture, ["password": "p0", "user": "ada", "x": 1])
            fixture.edit(first, ["user": "eve", "password": "p1"])
            // Marks in between say nothing of the edit either.
            first.recordSaveFailure(of: fixture.domain, because: DefaultsError(.notSaved, "The disk is full."))
            // An edit after it is in the log, and isn't lost.
            fixture.edit(first, ["later": 1])
            let second = try resume(fixture)
            #expect(fixture.values(second) == ["password": "p0", "user": "ada", "x": 1, "later": 1])
            let reversal = try #require(second.records.last { $0.changeSet?.source == .agent })
            #expect(reversal.event == .unknown(fixture.domain, rest: reversal.changeSet))
            #expect(reversal.changeSet?.changes == [KeyChange(key: "user", old: "eve", new: "ada")])
            try second.save(fixture.domain)
            try replace(fixture, with: ["password": "p0", "user": "ada", "x": 2, "later": 1])
            for _ in 0..<2 {
                let next = try resume(fixture)
                #expect(fixture.values(next) == ["password": "p0", "user": "ada", "x": 2, "later": 1])
                #expect(next.records.count { $0.changeSet?.source == .agent } == 1)
            }
        }
    }

    @Test("An edit that follows a lost one of the same key is kept beside a file changed since")
    func afterLost() throws {
        try withStoreFixture { fixture in
            let first = try begin(fixture, ["password": "p0", "user": "ada", "x": 1])
            fixture.edit(first, ["user": "eve", "password": "p1"])
            fixture.edit(first, ["user": "bob"])
            try replace(fixture, with: ["password": "p0", "user": "ada", "x": 2])
            #expect(fixture.values(try resume(fixture)) == ["password": "p0", "user": "bob", "x": 2])
        }
    }

    @Test("An edit that a new exclusion concerns stays in the log until it is saved")
    func excludedLater() throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["password": "p0"]).write(as: .xml), to: fixture.path)
            let first = try resume(fixture, excluding: HistoryExclusions())
            fixture.edit(first, ["password": "p1", "user": "eve"])
            #expect(first.exclude(exclusions) == [fixture.domain])
            fixture.edit(first, ["other": 1])
            for _ in 0..<3 { first.maintainJournal(HistoryLimits()) }
            // A mark, as after a failed save, keeps it, too.
            first.recordSaveFailure(of: fixture.domain, because: DefaultsError(.notSaved, "The disk is full."))
            let second = try resume(fixture)
            #expect(fixture.values(second) == ["password": "p1", "user": "eve", "other": 1])
            second.maintainJournal(HistoryLimits())
            #expect(second.journal?.needsMaintenance == true)
            try second.save(fixture.domain)
            second.maintainJournal(HistoryLimits())
            #expect(second.journal?.needsMaintenance == false)
            #expect(!String(decoding: try RawFile.read(fixture.logPath), as: UTF8.self).contains("p1"))
            #expect(!String(decoding: try RawFile.read(fixture.logPath), as: UTF8.self).contains("password"))
        }
    }

    @Test("A saved edit that is sent again after a restart isn't applied again, but a lost one is")
    func sentAgain() throws {
        for isSaved in [false, true] {
            try withStoreFixture { fixture in
                let first = try begin(fixture, ["k": 1])
                let edit = EditRequest(
                    domain: fixture.domain, values: ["k": 2, "password": "s"], writer: .testApp,
                    identity: EditIdentity(session: 7, number: 1))
                first.edit(edit)
                if isSaved {
                    try first.save(fixture.domain)
                    fixture.edit(first, ["k": 3])
                    try first.save(fixture.domain)
                }
                let second = try resume(fixture)
                second.edit(edit)
                #expect(fixture.values(second)["k"] == (isSaved ? 3 : 2))
            }
        }
    }

    @Test("A short log that forgets which change sets were lost still has the agent's report of it")
    func forgottenLoss() throws {
        try withStoreFixture { fixture in
            let first = try begin(fixture, ["user": "ada"])
            fixture.edit(first, ["user": "eve", "password": "p1"])
            let second = try resume(fixture)
            #expect(fixture.values(second) == ["user": "ada"])
            try second.save(fixture.domain)
            second.state.withLock { $0.domains[fixture.domain]?.lostChangeSets = [] }
            fixture.edit(second, ["x": 1])
            try second.save(fixture.domain)
            try replace(fixture, with: ["user": "ada", "x": 2])
            let third = try resume(fixture)
            #expect(fixture.values(third) == ["user": "ada", "x": 2])
            #expect(third.records.compactMap(\.changeSet).last?.overruled == [])
        }
    }

    @Test("The values of ten thousand keys are excluded without comparing each of them")
    func manyKeys() throws {
        let exclusions = HistoryExclusions(
            (0..<10_000).map { "org.x\($0 % 500)/password\($0)" } + ["*.bank/pin?", "é/é"])
        func excludes(_ key: String, _ name: String) -> Bool {
            exclusions.exclude(key, of: Domain(DomainName(unchecked: name)))
        }
        #expect(excludes("password7", "org.x7") && !excludes("password7", "org.x8") && !excludes("q", "org.x7"))
        #expect(excludes("pin1", "my.bank") && !excludes("pin12", "my.bank"))
        #expect(excludes("e\u{301}", "e\u{301}"))
    }
}
