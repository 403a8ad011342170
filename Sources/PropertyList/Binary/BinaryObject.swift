/// An object in a binary property list, located and bounded but not yet read.
///
/// The high nibble of a marker is the type, and the low nibble is the count. A count of 15 means that the real count
/// follows as an integer.
struct BinaryObject {
    enum Kind {
        case integer, real, date, data, ascii, utf16, uid, array, dictionary, no, yes
    }

    let kind: Kind
    /// The offset of the marker.
    let offset: Int
    /// The offset of the content.
    let content: Int
    /// The number of content bytes; for a container, the number of elements or entries.
    let count: Int

    /// Determines the kind of the object at an offset and checks that its content doesn't extend past `end`.
    @inline(__always)
    init(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, end: Int, referenceSize: Int
    ) throws(ReadingFailure) {
        self.offset = offset
        let marker = bytes[offset]
        let low = Int(marker & 0x0F)
        var content = offset + 1
        var count = low
        // For other types, the low nibble isn't a count.
        if low == 0x0F {
            switch marker >> 4 {
            case 0x4, 0x5, 0x6, 0xA, 0xD: (count, content) = try Self.longCount(bytes, at: offset, end: end)
            default: break
            }
        }
        var unit = 1
        switch marker >> 4 {
        case 0x0 where marker == 0x08: (kind, count) = (.no, 0)
        case 0x0 where marker == 0x09: (kind, count) = (.yes, 0)
        case 0x1 where low <= 4: (kind, count) = (.integer, 1 << low)
        case 0x2 where low == 2 || low == 3: (kind, count) = (.real, 1 << low)
        case 0x3 where low == 3: (kind, count) = (.date, 8)
        case 0x4: kind = .data
        case 0x5: kind = .ascii
        case 0x6: (kind, unit) = (.utf16, 2)
        case 0x8: (kind, count) = (.uid, low + 1)
        case 0xA: (kind, unit) = (.array, referenceSize)
        case 0xD: (kind, unit) = (.dictionary, 2 * referenceSize)
        default: throw Self.unknown(marker, at: offset)
        }
        // Divide instead of multiplying: a count can be up to 2^63 - 1 and a unit up to 16, so the product could
        // overflow.
        guard count <= (end - content) / unit else {
            throw ReadingFailure(
                code: .offsetOutOfRange, offset: offset, message: "the object's content is not within the input")
        }
        self.content = content
        self.count = kind == .utf16 ? count * 2 : count
    }

    /// The number of references in a container; `nil` for a scalar.
    var references: Int? {
        switch kind {
        case .array: count
        case .dictionary: 2 * count
        default: nil
        }
    }

    private static func longCount(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, end: Int
    ) throws(ReadingFailure) -> (count: Int, content: Int) {
        let failure = ReadingFailure(
            code: .offsetOutOfRange, offset: offset, message: "the object's count is not within the input")
        guard offset + 2 <= end else { throw failure }
        let marker = bytes[offset + 1]
        guard marker & 0xF0 == 0x10, marker & 0x0F <= 3 else {
            throw ReadingFailure(
                code: .syntax, offset: offset + 1,
                message: "expected the object's count as an integer, found marker \(hexadecimal(marker))")
        }
        let size = 1 << Int(marker & 0x0F)
        guard size <= end - offset - 2 else { throw failure }
        var value: UInt64 = 0
        for index in 0..<size { value = value << 8 | UInt64(bytes[offset + 2 + index]) }
        guard let count = Int(exactly: value) else { throw failure }
        return (count, offset + 2 + size)
    }

    private static func unknown(_ marker: UInt8, at offset: Int) -> ReadingFailure {
        switch marker >> 4 {
        case 0x0 where marker == 0x00:
            ReadingFailure(code: .unsupported, offset: offset, message: "null objects are not supported")
        case 0xC, 0xB: ReadingFailure(code: .unsupported, offset: offset, message: "sets are not supported")
        default:
            ReadingFailure(
                code: .syntax, offset: offset, message: "expected an object, found marker \(hexadecimal(marker))")
        }
    }
}
