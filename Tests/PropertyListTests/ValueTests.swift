import PropertyList
import Testing

@Suite("Values")
struct ValueTests {
    @Test("Values are equal, and have equal hashes, only if they are identical")
    func equality() {
        let distinct: [PropertyListValue] = [
            0, 1, false, true, 0.0, .real(-0.0), 1.0, .real32(0), .real32(1), .real(.nan), .real32(.nan), "", "1",
            .data([]), .data([1]), [], [0], [:], ["a": 1], ["\u{E9}": 1], ["e\u{301}": 1], [["\u{E9}": 1]],
            [["e\u{301}": 1]], ["\u{E9}": 1, "a": 1], ["e\u{301}": 1, "a": 1], .uid(0), .uid(1), "é", "e\u{301}",
            .unsigned(.max),
            .integer(.max), .date(PropertyListDate(secondsSinceReferenceDate: 0)),
            .date(PropertyListDate(secondsSinceReferenceDate: .nan)),
        ]
        for (first, value) in distinct.enumerated() {
            for (second, other) in distinct.enumerated() {
                #expect((value == other) == (first == second), "\(value) \(other)")
            }
        }
        #expect(Set(distinct).count == distinct.count)
    }

    @Test("Dates are equal if they are the same instant, whatever their bit pattern")
    func dates() throws {
        let zero = PropertyListDate(secondsSinceReferenceDate: 0)
        let minusZero = PropertyListDate(secondsSinceReferenceDate: -0.0)
        let oddNaN = PropertyListDate(secondsSinceReferenceDate: Double(nan: 5, signaling: false))
        let nan = PropertyListDate(secondsSinceReferenceDate: .nan)
        #expect(Set([zero, minusZero, nan, oddNaN]).count == 2)
        for format in PropertyListFormat.allCases {
            let value = PropertyListValue.date(minusZero)
            #expect(try PropertyListValue(parsing: value.write(as: format)) == value.asStored(in: format))
        }
    }

    @Test("A small unsigned number equals the signed integer")
    func unsigned() {
        #expect(PropertyListValue.number(5) == .integer(5))
        #expect(PropertyListValue.number(UInt64(Int64.max)) == .integer(.max))
        #expect(PropertyListValue.unsigned(5) == .integer(5))
        #expect(PropertyListValue.unsigned(5).hashValue == PropertyListValue.integer(5).hashValue)
        #expect(PropertyListValue.unsigned(5).asStored(in: .xml) == .integer(5))
        guard case .unsigned(1 << 63) = PropertyListValue.number(1 << 63) else {
            Issue.record("2^63 doesn't become an unsigned number")
            return
        }
    }

    @Test("The last of several equal keys in a literal wins")
    func literal() {
        #expect((["a": 1, "a": 2] as PropertyListValue) == ["a": 2])
    }

    @Test("Each format stores values as documented")
    func stored() {
        let value: PropertyListValue = [
            "real32": .real32(0.1), "uid": .uid(3), "date": .date(PropertyListDate(secondsSinceReferenceDate: -0.5)),
            "list": [true, 1, 1.0, 0.5, 1e21, .real(.infinity), .data([1])],
        ]
        #expect(value.asStored(in: .binary) == value)
        #expect(
            value.asStored(in: .xml) == [
                "real32": .real(Double(0.1 as Float)), "uid": .uid(3),
                "date": .date(PropertyListDate(secondsSinceReferenceDate: -1)),
                "list": [true, 1, 1.0, 0.5, 1e21, .real(.infinity), .data([1])],
            ])
        #expect(
            value.asStored(in: .oldStyle) == [
                "real32": "0.1", "uid": ["CF$UID": "3"], "date": "2000-12-31 23:59:59 +0000",
                "list": ["1", "1", "1", "0.5", "1e+21", "inf", .data([1])],
            ])
    }

    @Test("A format is detected from the first bytes")
    func detection() {
        let table: [(String, PropertyListFormat)] = [
            ("bplist00", .binary), ("bplist15", .binary), ("<?xml version='1.0'?>", .xml), ("<plist>", .xml),
            (" \n<dict/>", .xml), ("<!-- c --><dict/>", .xml), ("<!DOCTYPE plist>", .xml), ("<date>", .xml),
            ("<data>", .xml), ("\u{FEFF}<plist>", .xml), ("<unknown/>", .xml), ("{a=b;}", .oldStyle),
            ("<0a0b>", .oldStyle), ("<dada>", .oldStyle), ("< da da >", .oldStyle), ("<>", .oldStyle),
            ("<0", .oldStyle),
            ("<*I5>", .oldStyle), ("<[AA==]>", .oldStyle), ("", .oldStyle), ("  ", .oldStyle), ("bplis", .oldStyle),
        ]
        for (text, format) in table { #expect(PropertyListFormat.detect(Array(text.utf8)) == format, "\(text)") }
        #expect(PropertyListFormat.detect([0xFF, 0xFE, 0x3C, 0, 0x70, 0]) == .xml)
        #expect(PropertyListFormat.detect([0, 0x3C, 0, 0x70]) == .xml)
        #expect(PropertyListFormat.detect([0, 0x7B, 0, 0x7D]) == .oldStyle)
    }
}
