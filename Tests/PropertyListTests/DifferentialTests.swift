import Foundation
import PropertyList
import TestSupport
import Testing

/// Tests that have randomly changed documents read by our readers and by others.
///
/// If both accept a document, they must read the same value. If only one does, the reason must be listed in
/// `KnownDifference`. `DIFFERENTIAL=600 swift test --filter DifferentialTests` searches for 600 seconds for each reader
/// and format, with new seeds.
@Suite("Broken documents in several readers")
struct DifferentialTests {
    private static let seconds = ProcessInfo.processInfo.environment["DIFFERENTIAL"].flatMap(Double.init)
    /// The number of documents in an ordinary run.
    private static let count: UInt64 = 3_000

    /// Compares our reading of documents with another reader's.
    ///
    /// It covers the documents of an ordinary run, or new ones until the time is over.
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

    @Test(
        "Our reader and Foundation differ only in known ways on broken documents",
        arguments: [PropertyListFormat.xml, .binary])
    func foundation(format: PropertyListFormat) throws {
        try Self.compare(format, KnownDifference.fromFoundation(format)) { documents in
            documents.map { bytes in
                // Foundation of Swift 6.3 crashes when it reads a set.
                BinaryObjects(of: bytes).haveSet ? (nil, "a set") : (readByFoundation(bytes), nil)
            }
        }
    }

    @Test(
        "Our reader and Python's plistlib differ only in known ways on broken documents",
        .enabled(if: ForeignProcess.hasPython), arguments: [PropertyListFormat.xml, .binary])
    func python(format: PropertyListFormat) throws {
        try Self.compare(format, KnownDifference.fromPython(format)) { try readByPython($0, format) }
    }
}
