/// A binary document built from arbitrary bytes, whose objects may be shared, share an offset, lie within one another,
/// and be unused.
///
/// No program writes such documents, but all readers read them. Random changes to ordinary documents hardly ever lead
/// to one. A quarter of the documents has no more than unused objects, so that many can be spliced.
package struct TangledDocument {
    /// The document, which isn't always valid.
    package let bytes: [UInt8]

    private struct Builder {
        var choices: ArraySlice<UInt8>
        /// The share, in quarters, of the objects chosen to be tangled that are.
        var tangles = 0
        /// The objects' bytes, without the header.
        var body: [UInt8] = []
        /// For each object number, the offset in the body.
        var offsets: [Int] = []
        /// The objects written as keys, each with a different text.
        var keys: [Int] = []
        /// The offsets at which an object begins and none written before it continues.
        var boundaries: [Int] = []

        mutating func next(below limit: Int) -> Int { limit > 0 ? Int(choices.popFirst() ?? 0) % limit : 0 }

        mutating func append(_ bytes: [UInt8]) {
            boundaries.append(body.count)
            offsets.append(body.count)
            body += bytes
        }

        /// A reference to an object that exists, mostly to a recent one.
        mutating func reference() -> UInt8 {
            UInt8(max(0, offsets.count - 1 - next(below: min(offsets.count, 8))))
        }
    }

    package init(choosing choices: [UInt8]) {
        var builder = Builder(choices: choices[...])
        builder.tangles = builder.next(below: 4)
        // The dictionary that is edited, and an object that begins just before it and may extend over it.
        builder.offsets = [0, 0]
        for (index, key) in Self.keys.enumerated() where index < 2 || builder.next(below: 3) > 0 {
            builder.keys.append(builder.offsets.count)
            builder.append(key)
        }
        for _ in 0..<(1 + builder.next(below: 24)) { Self.append(to: &builder) }
        bytes = Self.finish(&builder)
    }

    private static let keys: [[UInt8]] =
        ["a", "b", "Key", "k", "c", "d"].map { [0x50 | UInt8($0.utf8.count)] + $0.utf8 }
        + [[0x61, 0x00, 0xE9], [0x61, 0x01, 0x42]]

    private static func append(to builder: inout Builder) {
        let kind = builder.next(below: 12)
        switch kind > 7 && builder.next(below: 4) >= builder.tangles ? 3 : kind {
        case 0: builder.append([builder.next(below: 2) == 0 ? 0x08 : 0x09])
        case 1, 2: builder.append([0x10, UInt8(builder.next(below: 256))])
        case 3, 4:
            let text = "value \(builder.offsets.count)"
            builder.append([0x50 | UInt8(text.utf8.count)] + text.utf8)
        case 5, 6:
            let references = (0..<builder.next(below: 4)).map { _ in builder.reference() }
            builder.append([0xA0 | UInt8(references.count)] + references)
        case 7:
            let keys = builder.keys.prefix(builder.next(below: 4)).map { UInt8($0) }
            let references = keys.map { _ in builder.reference() }
            builder.append([0xD0 | UInt8(keys.count)] + keys + references)
        case 8:
            // Data that contains further objects.
            let start = builder.body.count
            let inner: [UInt8] = [0x10, 0x07, 0x51, 0x78, 0x09, 0xA1, builder.reference(), 0x10, 0x2A]
            builder.append([0x40 | UInt8(inner.count)] + inner)
            for _ in 0..<builder.next(below: 3) {
                builder.offsets.append(start + 1 + [0, 2, 4, 5, 7][builder.next(below: 5)])
            }
        case 9: builder.offsets.append(builder.offsets[Int(builder.reference())])
        case 10: builder.offsets.append(builder.offsets[Int(builder.reference())] + builder.next(below: 3))
        default: builder.append(Array("unused".utf8))
        }
    }

    private static func finish(_ builder: inout Builder) -> [UInt8] {
        let keys = builder.keys.map { UInt8($0) }
        // An array refers to most objects, so that most are in use, whatever values are replaced.
        let first = 2 + keys.count
        let elements = ([1] + (first..<builder.offsets.count)).filter { number in
            builder.next(below: 8) > (number == 1 ? 4 : 0)
        }
        builder.append([0xAF, 0x10, UInt8(elements.count)] + elements.map { UInt8($0) })
        let objects = builder.offsets.count
        let values = keys.indices.map { index -> UInt8 in
            if index == 1 { return UInt8(objects - 1) }
            return UInt8(builder.next(below: 8) == 0 ? builder.next(below: objects) : min(first + index, objects - 1))
        }
        let dictionary = [0xD0 | UInt8(keys.count)] + keys + values
        let place = builder.boundaries[builder.next(below: builder.boundaries.count)]
        let extent = [0, 0, 1, dictionary.count, dictionary.count + 1][builder.next(below: 5)]
        let inserted = [0x4F, 0x10, UInt8(extent)] + dictionary
        builder.body.insert(contentsOf: inserted, at: place)
        var offsets = builder.offsets.map { $0 < place ? $0 : $0 + inserted.count }
        (offsets[0], offsets[1]) = (place + 3, place)
        let header = Array("bplist00".utf8)
        let table = offsets.flatMap { offset -> [UInt8] in
            let offset = offset + header.count
            return [UInt8(offset >> 8), UInt8(offset & 0xFF)]
        }
        let tableOffset = header.count + builder.body.count
        return header + builder.body + table + [0, 0, 0, 0, 0, 0, 2, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(objects)]
            + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, UInt8(tableOffset >> 8), UInt8(tableOffset & 0xFF)]
    }
}
