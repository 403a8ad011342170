import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Repeated edits")
struct RepeatedEditTests {
    private func edit(
        _ fixture: StoreFixture, _ number: UInt64, _ values: Difference, at time: Timestamp = .now(),
        replacing: DomainValues? = nil, since: FormerValues = [:], session: UInt64 = 7
    ) -> EditRequest {
        let former = replacing.map { $0.mapValues { [$0] }.merging(since) { $0 + $1 } }
        return EditRequest(
            domain: fixture.domain, values: values, time: time, writer: .testApp,
            identity: EditIdentity(session: session, number: number), replacing: former)
    }

    @Test("A repeated edit is applied only once, regardless of edits in between")
    func once() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            store.edit(edit(fixture, 1, ["a": 1]))
            fixture.edit(store, ["a": 2])
            store.edit(edit(fixture, 1, ["a": 1], replacing: [:]))
            #expect(fixture.values(store) == ["a": 2])
            let before = Timestamp(nanoseconds: Timestamp.now().nanoseconds - 1_000_000_000)
            store.edit(edit(fixture, 2, ["a": 3], at: before, replacing: ["a": 1]))
            #expect(fixture.values(store) == ["a": 2], "The other edit is more recent.")
            store.edit(edit(fixture, 3, ["a": 4]))
            store.edit(edit(fixture, 1, ["b": 1], session: 8))
            #expect(fixture.values(store) == ["a": 4, "b": 1])
        }
    }

    @Test("A repeated edit is applied only once even after an agent restart")
    func onceAcrossAgents() throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog()
            first.edit(edit(fixture, 1, ["a": 1]))
            let second = try fixture.resumedStore()
            second.edit(EditRequest(domain: fixture.domain, values: ["a": nil], writer: .testApp))
            second.edit(edit(fixture, 1, ["a": 1], replacing: [:]))
            #expect(fixture.values(second) == [:])
            second.edit(edit(fixture, 2, ["a": 2]))
            #expect(fixture.values(second) == ["a": 2])
        }
    }

    @Test("An edit that changed nothing isn't applied after a restart either", arguments: [false, true])
    func withoutChange(isRewritten: Bool) throws {
        try withStoreFixture { fixture in
            let first = try fixture.storeWithLog(sizeLimit: isRewritten ? 0 : 1 << 20)
            first.edit(edit(fixture, 1, ["b": 1], session: 8))
            first.edit(edit(fixture, 1, ["a": nil]))
            fixture.edit(first, ["a": 2])
            if isRewritten { first.maintainJournal(HistoryLimits()) }
            first.edit(edit(fixture, 2, ["b": 1]))
            fixture.edit(first, ["b": 3])
            let second = try fixture.resumedStore()
            second.edit(edit(fixture, 1, ["a": nil]))
            second.edit(edit(fixture, 2, ["b": 1]))
            second.edit(edit(fixture, 1, ["b": 1], session: 8))
            #expect(fixture.values(second) == ["a": 2, "b": 3])
            let third = try fixture.resumedStore()
            #expect(third.state.withLock { $0.sessions } == [7: 2, 8: 1])
        }
    }

    @Test("A repeated edit is applied if the file holds the value of the same process's earlier edit")
    func ownValueInBetween() throws {
        try withStoreFixture { fixture in
            let time = Timestamp(nanoseconds: Timestamp.now().nanoseconds - 1_000_000_000)
            let file: DomainValues = ["a": 2, "c": 2, "b": 9]
            try RawFile.write(PropertyListValue.dictionary(file).write(as: .xml), to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            store.edit(
                edit(
                    fixture, 1, ["a": 4, "c": 4, "d": 4], at: time, replacing: ["a": 1, "c": 1, "d": 1],
                    since: ["a": [2, 3], "d": [2, nil]]))
            #expect(fixture.values(store) == ["a": 4, "c": 2, "d": 4, "b": 9])
        }
    }

    @Test("A repeated edit isn't overruled by its own session's earlier edit, which arrived after it was made")
    func ownEditBefore() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            let made = Timestamp.now()
            store.edit(edit(fixture, 1, ["a": 1], at: Timestamp(nanoseconds: made.nanoseconds + 1)))
            store.edit(edit(fixture, 2, ["a": 2], at: made, replacing: ["a": 1]))
            #expect(fixture.values(store) == ["a": 2])
            let other = AppIdentity(pid: 1, executable: "/other")
            store.edit(EditRequest(domain: fixture.domain, values: ["a": 1], writer: .app(other)))
            store.edit(edit(fixture, 3, ["a": 3], at: made, replacing: ["a": 1]))
            #expect(fixture.values(store) == ["a": 1], "Another program has set the same value since.")
        }
    }

    /// The file's values after the edit `a: 1 → 2`, and the expected values.
    static let outcomes: [(file: DomainValues, inForce: DomainValues)] = [
        (["a": 1, "b": 9], ["a": 2, "b": 9]), (["a": 3], ["a": 3]), (["b": 9], ["b": 9]), (["a": 2], ["a": 2]),
    ]

    @Test("A repeated edit loses to a later write of its key, but not to writes of other keys", arguments: outcomes)
    func foreign(file: DomainValues, inForce: DomainValues) throws {
        try withStoreFixture { fixture in
            let time = Timestamp(nanoseconds: Timestamp.now().nanoseconds - 1_000_000_000)
            try RawFile.write(PropertyListValue.dictionary(file).write(as: .xml), to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            store.edit(edit(fixture, 1, ["a": 2], at: time, replacing: ["a": 1]))
            #expect(fixture.values(store) == inForce)
        }
    }

    @Test("A repeated edit is applied if the file is older than the edit")
    func olderFile() throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["a": 3]).write(as: .xml), to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            store.edit(edit(fixture, 1, ["a": 2], replacing: ["a": 1]))
            #expect(fixture.values(store) == ["a": 2])
        }
    }

    @Test("A late edit is rejected after other writes, unless it states the values that it replaces")
    func late() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            let before = Timestamp(nanoseconds: Timestamp.now().nanoseconds - 10_000_000_000)
            func isLate(_ request: EditRequest) -> Bool { store.state.withLock { $0.isLate(request, now: .now()) } }
            #expect(!isLate(edit(fixture, 1, ["a": 1], at: before)))
            fixture.edit(store, ["a": 2])
            #expect(isLate(edit(fixture, 1, ["a": 1], at: before)))
            let refusal = #expect(throws: DefaultsError.self) {
                try store.submit(edit(fixture, 1, ["a": 1], at: before))
            }
            #expect(refusal?.code == .late && refusal?.description.contains("without \"time\"") == true)
            #expect(!isLate(edit(fixture, 1, ["b": 1], at: before)))
            #expect(!isLate(edit(fixture, 1, ["a": 1])))
            #expect(!isLate(edit(fixture, 1, ["a": 1], at: before, replacing: [:])))
            try store.save(fixture.domain)
            #expect(isLate(edit(fixture, 1, ["b": 1], at: before)))
        }
    }

    @Test("A process without an agent applies its late edits, since it waits for them")
    func lateWithoutAgent() throws {
        try withStoreFixture { fixture in
            let store = Store(directory: PreferencesDirectory(path: fixture.directory), lifetime: .transient)
            let before = Timestamp(nanoseconds: Timestamp.now().nanoseconds - 10_000_000_000)
            fixture.edit(store, ["a": 2])
            store.edit(edit(fixture, 1, ["a": 1], at: before))
            #expect(fixture.values(store) == ["a": 1])
        }
    }

    @Test("The ledger of applied edits has a limit and forgets the session that was silent for longest")
    func ledger() {
        var ledger = AppliedEdits()
        for session in 1...UInt64(AppliedEdits.capacity) { ledger.insert(EditIdentity(session: session, number: 3)) }
        #expect(ledger.holds(EditIdentity(session: 1, number: 3)))
        #expect(!ledger.holds(EditIdentity(session: 1, number: 4)))
        ledger.insert(EditIdentity(session: 1, number: 2))
        #expect(ledger.holds(EditIdentity(session: 1, number: 3)))
        ledger.insert(EditIdentity(session: 100_000, number: 1))
        #expect(!ledger.holds(EditIdentity(session: 2, number: 3)))
        #expect(ledger.holds(EditIdentity(session: 1, number: 3)), "It isn't the one that was silent for longest.")
        #expect(ledger.holds(EditIdentity(session: UInt64(AppliedEdits.capacity), number: 3)))
        #expect(ledger.holds(EditIdentity(session: 100_000, number: 1)))
    }
}
