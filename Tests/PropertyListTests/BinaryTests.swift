import PropertyList
import Testing

@Suite("Binary property lists")
struct BinaryTests {
    private func read(_ objects: [UInt8]...) throws(PropertyListError) -> PropertyListValue {
        try PropertyListValue(parsing: binary(objects))
    }

    @Test(
        "Each kind of object is read as the right value",
        arguments: [
            ([0x08], false), ([0x09], true), ([0x10, 0xFF], 255), ([0x11, 0xFF, 0xFF], 65535),
            ([0x12, 0xFF, 0xFF, 0xFF, 0xFF], 4_294_967_295), ([0x13] + bigEndian(.max), -1),
            ([0x14] + bigEndian(0) + bigEndian(.max), .unsigned(.max)), ([0x14] + bigEndian(0) + bigEndian(7), 7),
            ([0x14] + bigEndian(.max) + bigEndian(.max), -1), ([0x22, 0x3F, 0x80, 0, 0], .real32(1)),
            ([0x23, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0], 1.0),
            ([0x23] + bigEndian(0x7FF8_0000_0000_0001), .real(.init(bitPattern: 0x7FF8_0000_0000_0001))),
            ([0x33, 0, 0, 0, 0, 0, 0, 0, 0], .date(PropertyListDate(secondsSinceReferenceDate: 0))),
            ([0x42, 1, 2], .data([1, 2])), ([0x40], .data([])), ([0x4F, 0x10, 2, 1, 2], .data([1, 2])),
            ([0x4F, 0x11, 0, 2, 1, 2], .data([1, 2])), ([0x50], ""), ([0x52, 0x61, 0x62], "ab"),
            ([0x53, 0x61, 0xC3, 0xA9], "aé"), ([0x53, 0x61, 0xE9, 0x62], "aéb"), ([0x51, 0x80], "\u{80}"),
            ([0x61, 0x00, 0xE9], "é"), ([0x62, 0xD8, 0x3D, 0xDE, 0x00], "😀"), ([0x80, 5], .uid(5)),
            ([0x81, 1, 0], .uid(256)),
            ([0x8F] + bigEndian(0) + bigEndian(9), .uid(9)), ([0xA0], []), ([0xD0], [:]),
        ] as [([UInt8], PropertyListValue)])
    func object(bytes: [UInt8], value: PropertyListValue) throws {
        #expect(try read(bytes) == value)
    }

    @Test(
        "An error names the byte",
        arguments: [
            ([[0x00]], .unsupported, 8), ([[0xC0]], .unsupported, 8), ([[0xB0]], .unsupported, 8),
            ([[0x0F]], .syntax, 8),
            ([[0x15]], .syntax, 8), ([[0x20, 0, 0]], .syntax, 8), ([[0x32, 0, 0, 0, 0]], .syntax, 8),
            ([[0x70]], .syntax, 8),
            ([[0x11, 0]], .offsetOutOfRange, 8), ([[0x5F]], .offsetOutOfRange, 8),
            ([[0x5F, 0x10]], .offsetOutOfRange, 8),
            ([[0x5F, 0x22, 0]], .syntax, 9), ([[0x5F, 0x13] + bigEndian(.max)], .offsetOutOfRange, 8),
            ([[0xDF, 0x13] + bigEndian(UInt64(Int64.max))], .offsetOutOfRange, 8),
            ([[0x6F, 0x13] + bigEndian(UInt64(Int64.max))], .offsetOutOfRange, 8),
            ([[0x61, 0xD8, 0x00]], .invalidText, 9),
            ([[0x62, 0xD8, 0x00, 0x00, 0x41]], .invalidText, 9), ([[0x61, 0xDC, 0x00]], .invalidText, 9),
            ([[0xA1, 0x05]], .offsetOutOfRange, 9),
            ([[0xA1, 0x00]], .cycle, 9),
            ([[0xA1, 0x01], [0xD1, 0x02, 0x00], [0x50]], .cycle, 12),
            ([[0xD1, 0x01, 0x01], [0x10, 0x01]], .syntax, 11),
            ([[0x14] + bigEndian(1) + bigEndian(0)], .numberOutOfRange, 8),
            ([[0x14] + bigEndian(.max) + bigEndian(0)], .numberOutOfRange, 8),
            ([[0x88, 1] + bigEndian(0)], .numberOutOfRange, 8),
        ] as [([[UInt8]], PropertyListError.Code, Int)])
    func error(objects: [[UInt8]], code: PropertyListError.Code, offset: Int) {
        let error = errorOfReading(binary(objects))
        #expect(error?.code == code)
        #expect(error?.position?.byteOffset == offset)
        #expect(error?.description.hasPrefix("Binary property list, byte \(offset): ") == true)
    }

    @Test(
        "Equal scalars are written once and different ones are kept apart, however many there are",
        arguments: [3, 5_000])
    func equalScalars(count: Int) throws {
        var distinct: [PropertyListValue] = [true, false, .real(-0.0)]
        for number in 0..<count {
            distinct.append(.string("a text longer than a word \(number)"))
            distinct.append(.string("\(number)"))
            distinct.append(.data(Array("\(number)".utf8)))
            distinct.append(.integer(Int64(number)))
            distinct.append(.uid(UInt64(number)))
            distinct.append(.real(Double(number)))
            distinct.append(.real32(Float(number)))
            distinct.append(.date(PropertyListDate(secondsSinceReferenceDate: Double(number))))
        }
        let value: PropertyListValue = [.array(distinct), .array(distinct.reversed()), .array(distinct)]
        let bytes = try value.write(as: .binary)
        #expect(try PropertyListValue(parsing: bytes) == value)
        // The trailer has the number of objects, which includes four arrays.
        #expect(bytes.suffix(24).prefix(8).reduce(0) { $0 << 8 | Int($1) } == distinct.count + 4)
    }

    @Test("An invalid trailer is refused")
    func trailer() {
        let good = binary([[0x09]])
        let start = good.count - 32
        #expect(errorOfReading(good) == nil)
        for (index, value) in [
            (6, 0), (6, 9), (7, 0), (7, 9), (8, 0xFF), (15, 0), (15, 2), (23, 1), (24, 1), (31, 0), (31, 8), (31, 255),
        ] {
            var bad = good
            bad[start + index] = UInt8(value)
            #expect(errorOfReading(bad) != nil, "byte \(index) as \(value)")
        }
        #expect(errorOfReading(Array("bplist15".utf8) + good.dropFirst(8))?.code == .unsupported)
        #expect(errorOfReading(Array("bplist00".utf8))?.code == .syntax)
    }

    @Test("Shared objects are read once, but count at each use")
    func shared() throws {
        // Each array contains the next one twice: 2^60 values when expanded.
        var objects = (0..<60).map { [0xA2, UInt8($0 + 1), UInt8($0 + 1)] as [UInt8] } + [[0xA0]]
        #expect(errorOfReading(binary(objects))?.code == .tooManyObjects)
        objects = (0..<10).map { [0xA2, UInt8($0 + 1), UInt8($0 + 1)] } + [[0xA0]]
        #expect(errorOfReading(binary(objects), limits: PropertyListLimits(objects: 2047)) == nil)
        #expect(errorOfReading(binary(objects), limits: PropertyListLimits(objects: 2046))?.code == .tooManyObjects)
        let long = [0x5F, 0x10, 20] + Array("twenty letters long!".utf8)
        #expect(
            try read([0xA4, 1, 1, 1, 2], long, [0xD1, 1, 1]) == [
                "twenty letters long!", "twenty letters long!", "twenty letters long!",
                ["twenty letters long!": "twenty letters long!"],
            ])
    }

    @Test("Shared or overlapping text counts against the byte limit at each use")
    func sharedContent() {
        let long: [UInt8] = [0x5F, 0x10, 100] + [UInt8](repeating: 0x61, count: 100)
        let shared: [[UInt8]] = [[0xA4, 1, 1, 1, 2], long, [0xD1, 1, 1]]
        #expect(errorOfReading(binary(shared), limits: PropertyListLimits(bytes: 500)) == nil)
        #expect(errorOfReading(binary(shared), limits: PropertyListLimits(bytes: 499))?.code == .tooLarge)
        // Ten thousand strings of 40,000 bytes, all in the same bytes.
        let count = 10_000
        var bytes = Array("bplist00".utf8) + [0xAF, 0x11, UInt8(count >> 8), UInt8(count & 0xFF)]
        for index in 1...count { bytes += [UInt8(index >> 8), UInt8(index & 0xFF)] }
        let text = bytes.count
        bytes += [0x5F, 0x11, 0x9C, 0x40] + [UInt8](repeating: 0x61, count: 40_000)
        let table = bytes.count
        bytes += [0, 0, 0, 8]
        for _ in 1...count { bytes += bigEndian(UInt64(text)).suffix(4) }
        bytes += [0, 0, 0, 0, 0, 0, 4, 2] + bigEndian(UInt64(count + 1)) + bigEndian(0) + bigEndian(UInt64(table))
        #expect(errorOfReading(bytes)?.code == .tooLarge)
    }

    @Test("A shared container is refused where its use exceeds the depth limit")
    func sharedDepth() {
        // The first element is nested two levels deep; the second uses it where only one level is left.
        let objects: [[UInt8]] = [[0xA2, 1, 3], [0xA1, 2], [0xA0], [0xA1, 4], [0xA1, 1]]
        #expect(errorOfReading(binary(objects), limits: PropertyListLimits(depth: 5)) == nil)
        #expect(errorOfReading(binary(objects), limits: PropertyListLimits(depth: 4))?.code == .tooDeep)
        // The same applies to a third one that shares the second.
        let more: [[UInt8]] = [[0xA3, 1, 3, 5], [0xA1, 2], [0xA0], [0xA1, 4], [0xA1, 1], [0xA1, 6], [0xA1, 3]]
        #expect(errorOfReading(binary(more), limits: PropertyListLimits(depth: 7)) == nil)
        #expect(errorOfReading(binary(more), limits: PropertyListLimits(depth: 6))?.code == .tooDeep)
    }

    @Test("Equal scalars are written once, while different types and spellings stay apart")
    func uniquing() throws {
        let text = String(repeating: "x", count: 1000)
        let same = try ([.string(text), .string(text), .string(text)] as PropertyListValue).write(as: .binary)
        #expect(same.count < 1100)
        let apart: PropertyListValue = [
            1, 1.0, true, .real32(1), "1", .uid(1), "é", "e\u{301}", 0.0, .real(-0.0), .real(.nan),
        ]
        #expect(try PropertyListValue(parsing: apart.write(as: .binary)) == apart)
    }

    @Test(
        "A number takes as few bytes as in Apple's files",
        arguments: [
            (0, 1), (255, 1), (256, 2), (65535, 2), (65536, 4), (4_294_967_295, 4), (4_294_967_296, 8), (-1, 8),
            (.unsigned(.max), 16),
        ] as [(PropertyListValue, Int)])
    func widths(value: PropertyListValue, width: Int) throws {
        // The file consists of the header, the marker, the number, one offset and the trailer.
        #expect(try value.write(as: .binary).count == 8 + 1 + width + 1 + 32)
    }
}
