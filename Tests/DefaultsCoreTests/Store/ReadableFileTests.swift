import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// What is published can be read again, whatever is edited.
@Suite("A file that is published")
struct ReadableFileTests {
    /// Arrays in each other.
    private func nested(_ depth: Int) -> PropertyListValue {
        (1..<depth).reduce(.array([])) { value, _ in .array([value]) }
    }

    @Test("has no more containers nested than are read; an edit with more is refused")
    func depth() throws {
        try withStoreFixture { fixture in
            let store = fixture.store(limits: DomainFile.standardLimits)
            let most = DomainFile.standardLimits.depth - 1
            for depth in [most + 1, 5_000] {
                let error = #expect(throws: DefaultsError.self) {
                    try store.commit(
                        EditRequest(domain: fixture.domain, values: ["deep": nested(depth)], writer: .testApp))
                }
                #expect(error?.code == .invalidValue)
            }
            _ = try store.commit(EditRequest(domain: fixture.domain, values: ["deep": nested(most)], writer: .testApp))
            let other = fixture.store(limits: DomainFile.standardLimits)
            fixture.look(other)
            #expect(fixture.values(other) == ["deep": nested(most)])
        }
    }

    @Test("is no larger than what is read: it is binary where XML is too large, and else stays as it was")
    func size() throws {
        try withStoreFixture { fixture in
            let limits = PropertyListLimits(bytes: 2_000)
            let store = fixture.store(limits: limits)
            fixture.edit(store, ["text": .data([UInt8](repeating: 7, count: 1_700))])
            try store.publish(fixture.domain)
            #expect(try PropertyListValue.read(RawFile.read(fixture.path)).format == .binary)
            let before = try RawFile.read(fixture.path)
            fixture.edit(store, ["more": .string(String(repeating: "x", count: 1_000))])
            let error = #expect(throws: DefaultsError.self) { try store.publish(fixture.domain) }
            #expect(error?.code == .notSaved)
            #expect(try RawFile.read(fixture.path) == before)
            // The edit is kept, and saved once there is room.
            fixture.edit(store, ["text": nil])
            try store.publish(fixture.domain)
            let other = fixture.store(limits: limits)
            fixture.look(other)
            #expect(fixture.values(other).keys.sorted() == ["more"])
        }
    }
}
