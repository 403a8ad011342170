import Glibc
import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

/// Edits that are applied only if the values they were based on are still in effect.
@Suite("Conditional edits")
struct ConditionalEditTests {
    private func request(_ fixture: StoreFixture, _ values: Difference, expecting: Difference) -> EditRequest {
        EditRequest(domain: fixture.domain, values: values, writer: .testApp, expecting: expecting)
    }

    @Test("A conditional edit is applied if its keys hold the expected values, and rejected otherwise")
    func condition() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1])
            for expected in [["a": 2], ["a": nil], ["a": 1, "b": 1], ["a": .real(1)]] as [Difference] {
                let error = #expect(throws: DefaultsError.self) {
                    try store.submit(request(fixture, ["a": 9], expecting: expected))
                }
                #expect(error?.code == .changed)
            }
            #expect(fixture.values(store) == ["a": 1])
            _ = try store.submit(request(fixture, ["a": 3, "b": 4], expecting: ["a": 1, "b": nil]))
            #expect(fixture.values(store) == ["a": 3, "b": 4])
        }
    }

    @Test("A conditional edit that was already applied isn't rejected when it is sent again")
    func again() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            var edit = request(fixture, ["a": 1], expecting: ["a": nil])
            edit.identity = EditIdentity(session: 1, number: 1)
            _ = try store.submit(edit)
            _ = try store.submit(edit)
            #expect(fixture.values(store) == ["a": 1])
        }
    }

    @Test("A conditional edit waits for a file that an editor has moved away briefly")
    func movedAway() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{list = (one); other = 5;}", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            #expect(rename(fixture.path, fixture.path + "~") == 0)
            let domain = fixture.domain
            let path = fixture.path
            try withBackgroundThread { mayGoOn in
                // The editor finishes once the store has noticed that the file is missing.
                while mayGoOn() {
                    guard store.state.withLock({ $0.domains[domain]?.missingSince != nil }) else { continue }
                    try? RawFile.write("{list = (one); other = 6;}", to: path)
                    return
                }
            } while: {
                _ = try store.commit(request(fixture, ["list": ["one", "two"]], expecting: ["list": ["one"]]))
            }
            #expect(fixture.values(store) == ["list": ["one", "two"], "other": "6"])
            #expect(store.events == ["file: other", "app: list"])
        }
    }

    @Test("A conditional edit is checked against the file while the lock keeps other stores out")
    func committed() throws {
        try withStoreFixture { fixture in
            let stores = [fixture.store(), fixture.store()]
            for store in stores { _ = try store.start(resuming: nil) }
            _ = try stores[0].commit(request(fixture, ["a": 1], expecting: ["a": nil]))
            let error = #expect(throws: DefaultsError.self) {
                try stores[1].commit(request(fixture, ["a": 2], expecting: ["a": nil]))
            }
            #expect(error?.code == .changed)
            _ = try stores[1].commit(request(fixture, ["a": 2], expecting: ["a": 1]))
            #expect(try PropertyListValue(parsing: RawFile.read(fixture.path)) == ["a": 2])
            #expect(stores.allSatisfy { $0.failures().isEmpty })
        }
    }
}
