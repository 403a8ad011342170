import Foundation
import PropertyList
import Testing

@Suite("Hostile input")
struct HostileInputTests {
    private static func documents() throws -> [[UInt8]] {
        let value: PropertyListValue = [
            "string": "text & more é😀",
            "a key of some length": [1, -1, .unsigned(.max), 0.5, .real32(2), true, .data([1, 2, 3])],
            "date": .date(PropertyListDate(secondsSinceReferenceDate: 86_400)), "uid": .uid(300),
            "nested": [[[[:]]], "a", "a"],
        ]
        let utf16 = "<?xml version='1.0'?><array><string>é😀&#65;<![CDATA[x]]></string><data>AAAA</data></array>".utf16
        return try PropertyListFormat.allCases.map { try value.write(as: $0) } + [
            Array("{a=<*I5>;b=(<0a>,\"\\U00e9\\101\",'x');/*c*/d;}//".utf8),
            [0xFE, 0xFF] + utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] },
        ]
    }

    @Test("A document cut off at any byte is either read or refused with an error")
    func truncated() throws {
        for document in try Self.documents() {
            for length in 0..<document.count {
                if let error = errorOfReading(Array(document.prefix(length))) { #expect(!error.description.isEmpty) }
            }
        }
    }

    @Test(
        "A document with any byte changed is either read or refused with an error",
        arguments: [
            0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF,
        ] as [UInt8])
    func flipped(mask: UInt8) throws {
        for var document in try Self.documents() {
            for index in document.indices {
                document[index] ^= mask
                if let error = errorOfReading(document) { #expect(!error.description.isEmpty) }
                document[index] ^= mask
            }
        }
    }

    @Test("The nesting depth is limited in every format")
    func depth() throws {
        for limit in [0, 1, 5, 512] {
            for excess in [0, 1] {
                let depth = limit + excess
                guard depth > 0 else { continue }
                let xml = String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
                let old = String(repeating: "(", count: depth) + String(repeating: ")", count: depth)
                let expected: PropertyListError.Code? = excess == 0 ? nil : .tooDeep
                let limits = PropertyListLimits(depth: limit)
                #expect(errorOfReading(Array(xml.utf8), limits: limits)?.code == expected)
                #expect(errorOfReading(Array(old.utf8), limits: limits)?.code == expected)
                guard depth < 200 else { continue }
                let arrays = (0..<depth).map { $0 == depth - 1 ? [0xA0] : [0xA1, UInt8($0 + 1)] }
                #expect(errorOfReading(binary(arrays), limits: limits)?.code == expected)
            }
        }
        let bomb = [UInt8](repeating: UInt8(ascii: "("), count: 1 << 20)
        #expect(errorOfReading(bomb)?.code == .tooDeep)
        #expect(errorOfReading(bomb)?.position?.byteOffset == 512)
    }

    @Test("A value too deep to be read isn't written", arguments: PropertyListFormat.allCases)
    func writingDepth(format: PropertyListFormat) throws {
        var value: PropertyListValue = []
        for _ in 1..<512 { value = [value] }
        #expect(try PropertyListValue(parsing: value.write(as: format)) == value)
        let error = #expect(throws: PropertyListError.self) { try ([value] as PropertyListValue).write(as: format) }
        #expect(error?.code == .tooDeep)
    }

    // The address sanitizer makes stack frames several times as large.
    @Test(
        "The deepest tree can be used on a thread with a stack of 512 KB",
        .enabled(if: dlsym(nil, "__asan_init") == nil))
    func smallStack() async {
        let outcome = await withCheckedContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    returning: Result {
                        for isDictionary in [false, true] {
                            var value: PropertyListValue = isDictionary ? [:] : []
                            for _ in 1..<512 { value = isDictionary ? ["k": value] : [value] }
                            for format in PropertyListFormat.allCases {
                                let read = try PropertyListValue(parsing: value.write(as: format))
                                #expect(read == value.asStored(in: format))
                                #expect(read.hashValue == value.hashValue)
                            }
                        }
                    })
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
        #expect(throws: Never.self) { try outcome.get() }
    }

    @Test("The size of the input and the number of values are limited")
    func size() {
        #expect(errorOfReading(xml("<true/>"), limits: PropertyListLimits(bytes: 20))?.code == .tooLarge)
        let limits = PropertyListLimits(objects: 3)
        for document in [xml("<array><true/><true/></array>"), Array("(a,b)".utf8), binary([[0xA2, 1, 1], [0x09]])] {
            #expect(errorOfReading(document, limits: limits) == nil)
        }
        for document in [
            xml("<array><true/><true/><true/></array>"), Array("(a,b,c)".utf8), binary([[0xA3, 1, 1, 1], [0x09]]),
        ] {
            #expect(errorOfReading(document, limits: limits)?.code == .tooManyObjects)
        }
    }
}
