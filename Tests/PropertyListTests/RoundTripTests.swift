import PropertyList
import Testing

@Suite("Round trips")
struct RoundTripTests {
    @Test("Binary returns every value unchanged", arguments: 1...100 as ClosedRange<UInt64>)
    func binary(seed: UInt64) throws {
        var values = RandomValues(seed: seed)
        let value = values.value(depth: 5)
        let (read, format) = try PropertyListValue.read(try value.write(as: .binary))
        #expect(format == .binary)
        #expect(read == value)
        #expect(read == value.asStored(in: .binary))
    }

    @Test("XML returns the value that asStored(in:) predicts", arguments: 1...100 as ClosedRange<UInt64>)
    func xml(seed: UInt64) throws {
        var values = RandomValues(seed: seed, without: .oddText)
        let value = values.dictionary()
        let (read, format) = try PropertyListValue.read(try value.write(as: .xml))
        #expect(format == .xml)
        #expect(read == value.asStored(in: .xml))
        #expect(try read.write(as: .xml) == value.write(as: .xml))
    }

    @Test("Old style returns the value that asStored(in:) predicts", arguments: 1...100 as ClosedRange<UInt64>)
    func oldStyle(seed: UInt64) throws {
        var values = RandomValues(seed: seed)
        let value = values.dictionary()
        let (read, format) = try PropertyListValue.read(try value.write(as: .oldStyle))
        #expect(format == .oldStyle)
        #expect(read == value.asStored(in: .oldStyle))
        #expect(try read.write(as: .oldStyle) == value.write(as: .oldStyle))
    }

    @Test("A scalar can be a whole document in every format", arguments: PropertyListFormat.allCases)
    func scalars(format: PropertyListFormat) throws {
        let scalars: [PropertyListValue] = [
            "", "text", 0, -1, .integer(.min), .integer(.max), .unsigned(.max), 0.5, true, false, .data([]),
            .data([1, 2, 3, 4, 5]), .date(PropertyListDate(secondsSinceReferenceDate: 0)), [], [:], .real32(0.1),
            .uid(7), .real(.nan), .real(Double(bitPattern: 0xFFFF_4000_0000_0000)),
            .real32(-Float(nan: 5, signaling: false)), .real(-0.0), .real(.leastNonzeroMagnitude),
            .real(.greatestFiniteMagnitude), "bplist", "bplist00", "bplists", ["bplist00"],
        ]
        for scalar in scalars {
            #expect(try PropertyListValue(parsing: scalar.write(as: format)) == scalar.asStored(in: format))
        }
    }

    @Test(
        "Equal values give equal bytes, in whatever order their dictionaries were filled",
        arguments: [2, 24, 25, 200])
    func determinism(count: Int) throws {
        let keys = (0..<count).map { "key \($0)" }
        let first = PropertyListValue.dictionary(Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) }))
        var grown: [String: PropertyListValue] = Dictionary(minimumCapacity: 5000)
        for key in keys.reversed() { grown[key] = 1 }
        for format in PropertyListFormat.allCases {
            #expect(try first.write(as: format) == PropertyListValue.dictionary(grown).write(as: format))
        }
    }

    @Test("Keys are written in the order of their bytes, however many there are", arguments: [12, 60])
    func order(count: Int) throws {
        let texts = [
            "", "a", "aa", "a\u{0}", "aaaaaaaab", "aaaaaaaaa", "aaaaaaaac1", "aaaaaaaac", "é", "e\u{302}", "\u{FFFF}",
            "\u{10000}",
        ]
        let keys = texts + (texts.count..<count).map { "aaaaaaaac\($0 * 7919 % 100)-\($0)" }
        let sorted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        // Each key's value is its position in the order.
        let values = sorted.enumerated().map { ($1, PropertyListValue.integer(Int64($0))) }
        let value = PropertyListValue.dictionary(Dictionary(uniqueKeysWithValues: values))
        let lines = String(decoding: try value.write(as: .oldStyle), as: UTF8.self).split(separator: "\n")
        let places = lines.compactMap { line in line.split(separator: " ").last.flatMap { Int($0.dropLast()) } }
        #expect(places == Array(0..<count))
    }

    @Test("A hundred thousand keys survive in every format", arguments: PropertyListFormat.allCases)
    func large(format: PropertyListFormat) throws {
        var values: [String: PropertyListValue] = [:]
        for index in 0..<100_000 { values["com.example.key\(index)"] = index % 2 == 0 ? .integer(Int64(index)) : "v" }
        let value = PropertyListValue.dictionary(values)
        #expect(try PropertyListValue(parsing: value.write(as: format)) == value.asStored(in: format))
    }
}
