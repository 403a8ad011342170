import Glibc
import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

/// Edits that are made only if what they were made from is still in force.
@Suite("An edit on a condition")
struct ConditionalEditTests {
    private func request(_ fixture: StoreFixture, _ values: Difference, expecting: Difference) -> EditRequest {
        EditRequest(domain: fixture.domain, values: values, writer: .testApp, expecting: expecting)
    }

    @Test("is made when its keys hold what it expects, and refused when they don't")
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

    @Test("that was made already isn't refused when it comes again")
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

    @Test("waits for a file that an editor has moved away for a moment")
    func movedAway() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{list = (one); other = 5;}", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            #expect(rename(fixture.path, fixture.path + "~") == 0)
            let domain = fixture.domain
            let path = fixture.path
            try withBackgroundThread { mayGoOn in
                // The editor is done once the store has missed the file.
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

    @Test("is judged by what the file holds when no other store can come between")
    func committed() throws {
        try withStoreFixture { fixture in
            let stores = [fixture.store(), fixture.store()]
            for store in stores { _ = try store.lookAtAll(isBaseline: true) }
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
