import Foundation
import PropertyList
import Testing

/// Documents changed at random, by our readers and by others'.
///
/// Where both take one, they must take the same from it. Where one alone does, it must be for a reason that is known, and
/// stands in `KnownDifference`. `DIFFERENTIAL=600 swift test --filter DifferentialTests` looks for so many seconds for each
/// reader and format, with new seeds.
@Suite("Broken documents, by several readers")
struct DifferentialTests {
    private static let seconds = ProcessInfo.processInfo.environment["DIFFERENTIAL"].flatMap(Double.init)
    /// So many documents are tried in an ordinary run.
    private static let count: UInt64 = 3_000

    /// Has documents of a format read by another, and compares: those of an ordinary run, or others until the time is over.
    private static func compare(
        _ format: PropertyListFormat, _ known: [KnownDifference],
        with read: ([[UInt8]]) throws -> [(value: PropertyListValue?, refusal: String?)]
    ) throws {
        let end = Date.now.addingTimeInterval(seconds ?? 0)
        var first = seconds == nil ? 1 : UInt64.random(in: 1...(.max >> 1))
        repeat {
            let documents = try (first..<first + count).map { try MutatedDocument(seed: $0, format: format) }
            for (document, theirs) in zip(documents, try read(documents.map(\.bytes))) {
                if let problem = ReadingComparison(document, theirs: theirs.value, refusal: theirs.refusal).problem(
                    known)
                {
                    Issue.record("\(problem)")
                }
            }
            first += count
        } while Date.now < end
    }

    @Test("Foundation", arguments: [PropertyListFormat.xml, .binary])
    func foundation(format: PropertyListFormat) throws {
        try Self.compare(format, KnownDifference.fromFoundation(format)) { documents in
            documents.map { bytes in
                // A set ends the process that gives it to Foundation of Swift 6.3.
                BinaryObjects(of: bytes).haveSet ? (nil, "a set") : (readByFoundation(bytes), nil)
            }
        }
    }

    @Test("python's plistlib", .enabled(if: Programs.python != nil), arguments: [PropertyListFormat.xml, .binary])
    func python(format: PropertyListFormat) throws {
        try Self.compare(format, KnownDifference.fromPython(format)) { try readByPython($0, format) }
    }
}
