import Foundation
import PropertyList
import TestSupport
import Testing

/// Tests with random documents and random edits.
///
/// Everything outside the edits must stay byte for byte, and all readers must read the expected values from the result.
@Suite("Splicing random documents")
struct SplicePropertyTests {
    /// A splice of a document, and its expected result.
    private struct Trial {
        let document: DecoratedDocument
        let edits: [String: PropertyListValue?]
        let expected: PropertyListValue
        let result: [UInt8]

        init(seed: UInt64, format: PropertyListFormat) throws {
            document = DecoratedDocument(seed: seed, format: format)
            var values = RandomValues(seed: seed ^ 0xFF00, without: [.uid, .oddText, .real32, .fractions])
            var edits: [String: PropertyListValue?] = [:]
            for entry in document.entries {
                switch Int.random(in: 0..<6, using: &values.generator) {
                case 0: edits[entry.key] = .some(Self.value(&values, format))
                case 1: edits[entry.key] = .some(nil)
                default: break
                }
            }
            for _ in 0..<Int.random(in: 0..<3, using: &values.generator) {
                edits[values.text()] = Self.value(&values, format)
            }
            self.edits = edits
            var expected = try #require(document.value, "\(document.text)")
            for (key, value) in edits { expected[key] = value }
            self.expected = .dictionary(expected)
            result = try #require(
                TextSplice.splice(edits, into: Array(document.text.utf8), resultingCount: expected.count),
                "Seed \(seed): \(document.text)")
        }

        private static func value(_ values: inout RandomValues, _ format: PropertyListFormat) -> PropertyListValue {
            // Old-style text has neither numbers nor Booleans.
            values.value(depth: 3).asStored(in: format)
        }

        /// The bytes that the result must contain, in this order.
        var kept: [String] {
            var kept: [String] = [document.head.trimmed]
            for entry in document.entries {
                switch edits[entry.key] {
                case nil:
                    // If entries share a line, a new one may come before the comment at the line's end.
                    kept += [
                        entry.before + entry.indentation + entry.opening + entry.value + entry.closing, entry.after,
                    ]
                case .some(.some):
                    kept += [entry.before + entry.indentation + entry.opening, entry.closing, entry.after]
                case .some(.none): kept += [entry.before.trimmed, entry.after.trimmed]
                }
            }
            return kept + [document.tail]
        }

        /// The first of the kept bytes that is missing in the result, or is out of order.
        var lost: String? {
            var rest = result[...]
            for piece in kept where !piece.isEmpty {
                let bytes = Array(piece.utf8)
                guard let range = rest.firstRange(of: bytes) else { return piece }
                rest = rest[range.upperBound...]
            }
            return nil
        }
    }

    @Test(
        "A spliced XML document keeps everything else and has the expected values",
        arguments: 1...300 as ClosedRange<UInt64>)
    func xml(seed: UInt64) throws {
        let trial = try Trial(seed: seed, format: .xml)
        #expect(try PropertyListValue(parsing: trial.result) == trial.expected)
        #expect(readByFoundation(trial.result)?.withoutSignOfZero == trial.expected.withoutSignOfZero)
        #expect(trial.lost == nil)
    }

    @Test(
        "A spliced old-style document keeps everything else and has the expected values",
        arguments: 1...300 as ClosedRange<UInt64>)
    func oldStyle(seed: UInt64) throws {
        let trial = try Trial(seed: seed, format: .oldStyle)
        #expect(try PropertyListValue(parsing: trial.result) == trial.expected)
        #expect(readByFoundation(trial.result) == trial.expected)
        #expect(trial.lost == nil, "\(trial.document.text) is \(String(decoding: trial.result, as: UTF8.self))")
    }

    @Test("Python's plistlib reads the result of a splice as the same values", .enabled(if: ForeignProcess.hasPython))
    func python() throws {
        let trials = try (1...300 as ClosedRange<UInt64>).map { try Trial(seed: $0, format: .xml) }
        for (trial, theirs) in zip(trials, try readByPython(trials.map(\.result), .xml)) {
            let text = String(decoding: trial.result, as: UTF8.self)
            let value = try #require(theirs.value, "\(theirs.refusal ?? ""): \(text)")
            #expect(value.withoutSignOfZero == trial.expected.withoutSignOfZero, "\(text)")
        }
    }

    @Test(
        "A splice of a malformed document is either refused or correct",
        arguments: [PropertyListFormat.xml, .oldStyle])
    func broken(format: PropertyListFormat) throws {
        let edits: [String: PropertyListValue?] = ["Key": "x", "a": nil, "z9": ["y"]]
        for seed in 1...3_000 as ClosedRange<UInt64> {
            var values = RandomValues(seed: seed)
            var bytes = Array(DecoratedDocument(seed: seed, format: format).text.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &values.generator) {
                let place = Int.random(in: 0..<bytes.count, using: &values.generator)
                bytes[place] = Array("<>/&;{}()=\"'\\ \n*!-[]k\0".utf8).randomElement(using: &values.generator) ?? 0
            }
            let before = try? PropertyListValue(parsing: bytes)
            guard case .dictionary(var expected)? = before else {
                _ = TextSplice.splice(edits, into: bytes, resultingCount: 3)
                continue
            }
            for (key, value) in edits { expected[key] = value }
            guard let result = TextSplice.splice(edits, into: bytes, resultingCount: expected.count) else { continue }
            #expect(
                try PropertyListValue(parsing: result) == .dictionary(expected),
                "\(String(decoding: bytes, as: UTF8.self))")
        }
    }
}

extension String {
    /// The text without surrounding whitespace.
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
