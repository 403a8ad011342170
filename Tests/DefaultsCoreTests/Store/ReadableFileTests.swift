import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// A saved file can always be read again, regardless of the edits in it.
@Suite("Readability of saved files")
struct ReadableFileTests {
    /// Returns nested arrays.
    private func nested(_ depth: Int) -> PropertyListValue {
        (1..<depth).reduce(.array([])) { value, _ in .array([value]) }
    }

    @Test("An edit nested more deeply than a file may be is rejected, and one at the limit can be read again")
    func depth() throws {
        try withStoreFixture { fixture in
            let store = fixture.store(limits: PropertyListLimits.domainFile)
            let most = PropertyListLimits.domainFile.depth - 1
            for depth in [most + 1, 5_000] {
                let error = #expect(throws: DefaultsError.self) {
                    try store.commit(
                        EditRequest(domain: fixture.domain, values: ["deep": nested(depth)], writer: .testApp))
                }
                #expect(error?.code == .invalidValue)
            }
            _ = try store.commit(EditRequest(domain: fixture.domain, values: ["deep": nested(most)], writer: .testApp))
            let other = fixture.store(limits: PropertyListLimits.domainFile)
            fixture.look(other)
            #expect(fixture.values(other) == ["deep": nested(most)])
        }
    }

    @Test("A file is saved as binary if XML is too large, and a save that exceeds the limit fails")
    func size() throws {
        try withStoreFixture { fixture in
            let limits = PropertyListLimits(bytes: 2_000)
            let store = fixture.store(limits: limits)
            fixture.edit(store, ["text": .data([UInt8](repeating: 7, count: 1_700))])
            try store.save(fixture.domain)
            #expect(try PropertyListValue.read(RawFile.read(fixture.path)).format == .binary)
            let before = try RawFile.read(fixture.path)
            fixture.edit(store, ["more": .string(String(repeating: "x", count: 1_000))])
            let error = #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            #expect(error?.code == .invalidValue)
            #expect(try RawFile.read(fixture.path) == before)
            // The edit stays pending and is saved once there is room.
            fixture.edit(store, ["text": nil])
            try store.save(fixture.domain)
            let other = fixture.store(limits: limits)
            fixture.look(other)
            #expect(fixture.values(other).keys.sorted() == ["more"])
        }
    }

    @Test("Edits that are too large for a file keep no edit from it that fits, or makes it smaller")
    func excess() throws {
        try withStoreFixture { fixture in
            func text(_ count: Int) -> PropertyListValue { .string(String(repeating: "x", count: count)) }
            let store = fixture.store(limits: PropertyListLimits(bytes: 4_000))
            fixture.edit(store, ["shrinking": text(3_600)])
            try store.save(fixture.domain)
            for count in [3_000, 5_000, 6_000] { fixture.edit(store, ["large \(count)": text(count)]) }
            fixture.edit(store, ["shrinking": text(2_000)])
            // Edits that are made together are saved together.
            fixture.edit(store, ["one": 1, "two": text(4_000)])
            for count in [100, 200, 300] { fixture.edit(store, ["small \(count)": text(count)]) }
            let error = #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            #expect(error?.code == .invalidValue)
            let keys = "\"large 3000\", \"large 5000\", \"large 6000\", …"
            #expect(error?.description.hasPrefix("Can't save \(keys).") == true)
            let saved = try DomainValues.read(fixture.path)
            #expect(saved.keys.sorted() == ["shrinking", "small 100", "small 200", "small 300"])
            #expect(saved["shrinking"] == text(2_000))
            #expect(store.pending().map(\.edits) == [5])
        }
    }

    @Test("A large edit that makes a file too large is refused, unless it makes the domain smaller")
    func refusal() throws {
        try withStoreFixture { fixture in
            func data(_ count: Int, _ byte: UInt8 = 7) -> PropertyListValue {
                .data([UInt8](repeating: byte, count: count))
            }
            func submit(_ values: Difference, replacesAll: Bool = false) throws(DefaultsError) {
                _ = try store.submit(
                    EditRequest(
                        domain: fixture.domain, values: values, replacesAll: replacesAll, writer: .testApp))
            }
            let store = fixture.store(limits: PropertyListLimits(bytes: 200_000))
            try submit(["a": data(90_000, 1), "b": data(90_000, 2)])
            for values: Difference in [["c": data(90_000)], ["a": nil, "c": data(120_000)], ["a": data(200_000)]] {
                let error = #expect(throws: DefaultsError.self) { try submit(values) }
                #expect(error?.code == .invalidValue)
                #expect(error?.description.contains("200000 bytes") == true)
            }
            #expect(store.records.count == 1 && fixture.values(store).keys.sorted() == ["a", "b"])
            #expect(throws: DefaultsError.self) {
                try store.commit(
                    EditRequest(
                        domain: fixture.domain, values: ["c": data(90_000)], writer: .testApp, expecting: ["c": nil]))
            }
            // The encoded size counts: equal values are written once.
            try submit(["c": .array(Array(repeating: 5, count: 10_000))])
            try submit(["c": data(190_000)], replacesAll: true)
            // Small edits may add up to too much, which no longer concerns the large ones that make it less.
            for (key, byte) in [("d", 1), ("e", 2)] as [(String, UInt8)] { try submit([key: data(30_000, byte)]) }
            try submit(["c": data(180_000)])
            #expect(throws: DefaultsError.self) { try submit(["c": data(185_000)]) }
            try submit(["c": data(100_000)])
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path).keys.sorted() == ["c", "d", "e"])
        }
    }
}
