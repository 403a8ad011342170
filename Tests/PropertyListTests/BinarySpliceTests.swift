import Foundation
import PropertyList
import TestSupport
import Testing

@Suite("Splicing binary documents")
struct BinarySpliceTests {
    /// A document that is edited repeatedly, and its expected values.
    private struct Trial {
        var bytes: [UInt8]
        var values: [String: PropertyListValue]
        var random: RandomValues

        init(seed: UInt64) throws {
            random = RandomValues(seed: seed, without: [.uid, .oddText, .real32, .fractions])
            values = [:]
            for index in 0..<Int.random(in: 1...300, using: &random.generator) {
                values["\(random.text())\(index)"] = random.value(depth: 2)
            }
            bytes = try PropertyListValue.dictionary(values).write(as: .binary)
        }

        /// Sets, replaces and removes a few keys; returns `false` if the document would have to be written as a whole.
        mutating func edit() -> Bool {
            var edits: [String: PropertyListValue?] = [:]
            for _ in 0..<Int.random(in: 1...3, using: &random.generator) {
                let key = values.keys.sorted().randomElement(using: &random.generator) ?? "a"
                switch Int.random(in: 0..<4, using: &random.generator) {
                case 0: edits[key] = .some(nil)
                case 1: edits[random.text()] = .integer(.random(in: -3...70_000, using: &random.generator))
                default: edits[key] = .string(random.text())
                }
            }
            var expected = values
            for (key, value) in edits { expected[key] = value }
            guard let result = BinarySplice.splice(edits, into: bytes, resultingCount: expected.count) else {
                return false
            }
            (bytes, values) = (result, expected)
            return true
        }
    }

    @Test(
        "Each of many splices reads back as the expected values, until too much is unused",
        arguments: 1...100 as ClosedRange<UInt64>)
    func chain(seed: UInt64) throws {
        var trial = try Trial(seed: seed)
        let size = trial.bytes.count
        var edits = 0
        while trial.edit() {
            edits += 1
            let isExpected = try PropertyListValue(parsing: trial.bytes) == .dictionary(trial.values)
            #expect(isExpected)
            try #require(edits < 2_000, "Unused values are never removed.")
        }
        #expect(trial.bytes.count < size * 2 + 10_000)
        if edits > 0 {
            let expected = PropertyListValue.dictionary(trial.values).withoutSignOfZero
            let isExpected = readByFoundation(trial.bytes)?.withoutSignOfZero == expected
            #expect(isExpected)
        }
    }

    @Test("Python's plistlib reads the result of many splices", .enabled(if: ForeignProcess.hasPython))
    func python() throws {
        let trials = try (1...100 as ClosedRange<UInt64>).map { seed in
            var trial = try Trial(seed: seed)
            for _ in 0..<10 where trial.edit() {}
            return trial
        }
        for (trial, theirs) in zip(trials, try readByPython(trials.map(\.bytes), .binary)) {
            let value = try #require(theirs.value, "\(theirs.refusal ?? "")")
            let isExpected = value.withoutSignOfZero == PropertyListValue.dictionary(trial.values).withoutSignOfZero
            #expect(isExpected)
        }
    }

    @Test("Other values keep their bytes")
    func others() throws {
        let values = Dictionary(uniqueKeysWithValues: (0..<300).map { ("key\($0)", PropertyListValue.integer($0)) })
        let before = try PropertyListValue.dictionary(values).write(as: .binary)
        let after = try #require(BinarySplice.splice(["key7": "new"], into: before, resultingCount: 300))
        // Before the trailer, there are the offsets of 601 objects, the dictionary's references, its count and marker.
        let scalars = before.count - 32 - 2 * 601 - 2 * 600 - 4
        // The old value takes two bytes.
        #expect(zip(before.prefix(scalars), after).count { $0 != $1 } == 2)
        #expect(after.count < before.count + 16)
    }

    @Test("A value that is replaced or removed leaves nothing of its contents")
    func erasure() throws {
        var values = Dictionary(uniqueKeysWithValues: (0..<300).map { ("key\($0)", PropertyListValue.integer($0)) })
        (values["token"], values["other"]) = ("secret-1", .data(Array("secret-2".utf8)))
        values["shared"] = ["kept"]
        let before = try PropertyListValue.dictionary(values).write(as: .binary)
        let edits: [String: PropertyListValue?] = ["token": nil, "other": 1]
        let after = try #require(BinarySplice.splice(edits, into: before, resultingCount: 302))
        let text = String(decoding: after, as: UTF8.self)
        #expect(!text.contains("secret") && !text.contains("token") && text.contains("kept"))
        for (key, value) in edits { values[key] = value }
        #expect(try PropertyListValue(parsing: after) == .dictionary(values))
        #expect(readByFoundation(after) == .dictionary(values))
    }

    @Test("A container that is replaced or removed leaves nothing of its contents, but what others use stays")
    func erasureOfContainers() throws {
        var values = Dictionary(uniqueKeysWithValues: (0..<300).map { ("key\($0)", PropertyListValue.integer($0)) })
        values["account"] = ["name": "kept", "password": "secret-1", "old": ["secret-2", ["deep": "secret-3"]]]
        (values["list"], values["name"]) = (["secret-4", "kept"], "kept")
        let before = try PropertyListValue.dictionary(values).write(as: .binary)
        let edits: [String: PropertyListValue?] = ["account": nil, "list": 1]
        let after = try #require(BinarySplice.splice(edits, into: before, resultingCount: 302))
        let text = String(decoding: after, as: UTF8.self)
        #expect(!text.contains("secret") && !text.contains("password") && text.contains("kept"))
        for (key, value) in edits { values[key] = value }
        #expect(try PropertyListValue(parsing: after) == .dictionary(values))
        #expect(readByFoundation(after) == .dictionary(values))
    }

    @Test("An edit of one object never changes another one at the same offset")
    func sharedOffset() throws {
        // The numbers 1 and 3 are at the same offset.
        let document: [UInt8] =
            Array("bplist00".utf8) + [0x51, 0x61, 0x58] + Array("precious".utf8) + [0x51, 0x62, 0xD2, 0, 2, 1, 3]
            + [8, 10, 19, 10, 21] + [UInt8](repeating: 0, count: 6) + [1, 1]
            + [0, 0, 0, 0, 0, 0, 0, 5] + [0, 0, 0, 0, 0, 0, 0, 4] + [0, 0, 0, 0, 0, 0, 0, 26]
        #expect(try PropertyListValue(parsing: document) == ["a": "precious", "b": "precious"])
        for key in ["a", "b"] {
            let result = try #require(BinarySplice.splice([key: 1], into: document, resultingCount: 2))
            var expected: [String: PropertyListValue] = ["a": "precious", "b": "precious"]
            expected[key] = 1
            #expect(try PropertyListValue(parsing: result) == .dictionary(expected))
        }
        // Here, both numbers stay in use.
        #expect(BinarySplice.splice(["c": 1], into: document, resultingCount: 3) == nil)
    }

    @Test("A document is written as a whole if a splice isn't possible")
    func refusals() throws {
        let values = Dictionary(uniqueKeysWithValues: (0..<100).map { ("key\($0)", PropertyListValue.integer($0)) })
        let document = try PropertyListValue.dictionary(values).write(as: .binary)
        #expect(BinarySplice.splice(["key1": ["a"]], into: document, resultingCount: 100) == nil)
        #expect(BinarySplice.splice(["key1": 1], into: document, resultingCount: 101) == nil)
        #expect(BinarySplice.splice(["a": 1], into: Array("{ a = 1; }".utf8), resultingCount: 1) == nil)
        let array = try PropertyListValue.array([]).write(as: .binary)
        #expect(BinarySplice.splice(["a": 1], into: array, resultingCount: 1) == nil)
        // The 256 objects that one-byte references can express are in use.
        var full: [String: PropertyListValue] = [:]
        for index in 0..<127 { full["key\(index)"] = .integer(Int64(index)) }
        let fullDocument = try PropertyListValue.dictionary(full).write(as: .binary)
        let one = try #require(BinarySplice.splice(["key1": 1_000], into: fullDocument, resultingCount: 127))
        #expect(BinarySplice.splice(["key2": 2_000, "key3": 3_000], into: one, resultingCount: 127) == nil)
    }

    @Test("Data that contains the dictionary's bytes is never cut")
    func overlap() throws {
        // An array whose data object spans the dictionary behind it can't be written by us, but can be read.
        let document: [UInt8] =
            Array("bplist00".utf8) + [0x51, 0x61, 0x51, 0x62, 0x44, 0xD2, 0x00, 0x01, 0x02, 0x01]
            + [8, 10, 12, 13] + [UInt8](repeating: 0, count: 6) + [1, 1]
            + [0, 0, 0, 0, 0, 0, 0, 4] + [0, 0, 0, 0, 0, 0, 0, 3] + [0, 0, 0, 0, 0, 0, 0, 18]
        let value = try PropertyListValue(parsing: document)
        #expect(value == ["a": .data([0xD2, 0, 1, 2]), "b": "b"])
        #expect(BinarySplice.splice(["b": "new"], into: document, resultingCount: 2) == nil)
    }
}
