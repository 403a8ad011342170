import Testing

@testable import PropertyList

/// Tests with keys of many consecutive combining marks, which Swift takes quadratic time to hash.
@Suite("Keys with combining marks")
struct MarkRunTests {
    /// Returns a letter followed by a number of marks, of two alternating classes.
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

    @Test("A key may have several runs of 128 marks, and readers refuse one with a longer run")
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

    @Test("A mark of class 0 that decomposes into two marks is counted")
    func composedMarks() {
        #expect(String(repeating: "\u{F73}", count: 129).hasOverlongMarkRun)
        #expect(String(repeating: "\u{F81}", count: 129).hasOverlongMarkRun)
        #expect(!String(repeating: "漢", count: 1_000).hasOverlongMarkRun)
    }

    @Test("A key of a million marks is refused quickly", .timeLimit(.minutes(1)))
    func endlessKey() {
        for document in Self.documents(Self.marked(1_000_000)) {
            #expect(errorOfReading(document)?.code == .unsupported)
        }
    }

    @Test("Texts of a million marks are compared quickly", .timeLimit(.minutes(1)))
    func endlessTexts() {
        let text = Self.marked(1_000_000)
        #expect(PropertyListValue.string(text + "\u{301}") != .string(text + "\u{323}"))
    }
}
