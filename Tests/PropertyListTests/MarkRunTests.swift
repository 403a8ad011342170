import Testing

@testable import PropertyList

/// Keys of many combining marks in a row, which Swift takes quadratic time to hash.
@Suite("Keys of combining marks")
struct MarkRunTests {
    /// A letter and so many marks, of two classes in turn.
    private static func marked(_ count: Int) -> String {
        var text = "a"
        for number in 0..<count { text.unicodeScalars.append(number % 2 == 0 ? "\u{301}" : "\u{323}") }
        return text
    }

    private static func documents(_ key: String) -> [[UInt8]] {
        var text: [UInt8] = [0x6F, 0x12]
        for shift in [24, 16, 8, 0] { text.append(UInt8(truncatingIfNeeded: key.utf16.count >> shift)) }
        for unit in key.utf16 {
            text.append(UInt8(unit >> 8))
            text.append(UInt8(unit & 0xFF))
        }
        return [
            Array("<dict><key>\(key)</key><true/></dict>".utf8), Array("{ \"\(key)\" = 1; }".utf8),
            binary([[0xD1, 2, 1], [0x09], text]),
        ]
    }

    @Test("A key may have 128 marks in a row, however often, and no reader takes one that has more")
    func limit() {
        for document in Self.documents(Self.marked(128) + Self.marked(128)) {
            #expect(errorOfReading(document) == nil)
        }
        for document in Self.documents(Self.marked(129)) {
            let error = errorOfReading(document)
            #expect(error?.code == .unsupported)
            #expect(error?.description.contains("has more than 128 combining marks in a row") == true)
        }
        #expect(PropertyListValue.dictionary(["b": [[Self.marked(129): 1]]]).hasUnreadableKey)
        #expect(!PropertyListValue.dictionary(["b": [[Self.marked(128): 1]]]).hasUnreadableKey)
    }

    @Test("Marks that count as none by themselves, but stand for two, are counted")
    func composedMarks() {
        #expect(String(repeating: "\u{F73}", count: 129).hasOverlongMarkRun)
        #expect(String(repeating: "\u{F81}", count: 129).hasOverlongMarkRun)
        #expect(!String(repeating: "漢", count: 1_000).hasOverlongMarkRun)
    }

    @Test("A key of a million marks is refused at once", .timeLimit(.minutes(1)))
    func endlessKey() {
        for document in Self.documents(Self.marked(1_000_000)) {
            #expect(errorOfReading(document)?.code == .unsupported)
        }
    }

    @Test("Texts of a million marks are compared at once", .timeLimit(.minutes(1)))
    func endlessTexts() {
        let text = Self.marked(1_000_000)
        #expect(PropertyListValue.string(text + "\u{301}") != .string(text + "\u{323}"))
    }
}
