/// Decoding of objects that contain no other objects.
enum BinaryScalar {
    static func integer(
        in bytes: UnsafeRawBufferPointer, of object: BinaryObject
    ) throws(ReadingFailure) -> PropertyListValue {
        // Integers of up to 4 bytes are unsigned, and integers of 8 bytes are signed. Numbers that need 64 unsigned
        // bits use 16 bytes.
        guard object.count >= 8 else {
            return .integer(Int64(truncatingIfNeeded: number(in: bytes, at: object.content, size: object.count)))
        }
        let low = number(in: bytes, at: object.content + object.count - 8, size: 8)
        guard object.count == 16 else { return .integer(Int64(bitPattern: low)) }
        switch number(in: bytes, at: object.content, size: 8) {
        case 0: return .number(low)
        case .max where low > UInt64(Int64.max): return .integer(Int64(bitPattern: low))
        default:
            throw ReadingFailure(
                code: .numberOutOfRange, offset: object.offset, message: "the number does not fit in 64 bits")
        }
    }

    static func unsigned(in bytes: UnsafeRawBufferPointer, of object: BinaryObject) throws(ReadingFailure) -> UInt64 {
        let extra = max(object.count - 8, 0)
        guard bytes[object.content..<(object.content + extra)].allSatisfy({ $0 == 0 }) else {
            throw ReadingFailure(
                code: .numberOutOfRange, offset: object.offset, message: "the number does not fit in 64 bits")
        }
        return number(in: bytes, at: object.content + extra, size: object.count - extra)
    }

    static func real(in bytes: UnsafeRawBufferPointer, of object: BinaryObject) -> PropertyListValue {
        guard object.count == 4 else { return .real(double(in: bytes, at: object.content)) }
        let pattern = UInt32(truncatingIfNeeded: number(in: bytes, at: object.content, size: 4))
        return .real32(Float(bitPattern: pattern))
    }

    static func double(in bytes: UnsafeRawBufferPointer, at offset: Int) -> Double {
        Double(bitPattern: number(in: bytes, at: offset, size: 8))
    }

    @inline(__always)
    static func string(in bytes: UnsafeRawBufferPointer, of object: BinaryObject) throws(ReadingFailure) -> String {
        let content = UnsafeRawBufferPointer(rebasing: bytes[object.content..<(object.content + object.count)])
        guard object.kind == .ascii else { return try utf16(in: content, of: object) }
        let bytes = content.assumingMemoryBound(to: UInt8.self)
        if let string = String(ascii: bytes) { return string }
        return UTF8Validation.firstInvalidOffset(in: bytes) == nil
            ? String(decoding: bytes, as: UTF8.self) : latin1(bytes)
    }

    /// Decodes supposed ASCII text that isn't even UTF-8; like Foundation, it assumes Latin-1.
    private static func latin1(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
    }

    private static func utf16(
        in content: UnsafeRawBufferPointer, of object: BinaryObject
    ) throws(ReadingFailure) -> String {
        var failure: ReadingFailure?
        // A UTF-16 code unit needs at most three bytes of UTF-8, and a surrogate pair needs four.
        let string = String(unsafeUninitializedCapacity: content.count / 2 * 3) { output in
            var count = 0
            func append(_ scalar: Unicode.Scalar) {
                for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    output[count] = byte
                    count += 1
                }
            }
            var index = 0
            while index < content.count {
                let unit = UInt16(content[index]) << 8 | UInt16(content[index + 1])
                if unit < 0x80 {
                    output[count] = UInt8(truncatingIfNeeded: unit)
                    count += 1
                } else if let scalar = Unicode.Scalar(unit) {
                    append(scalar)
                } else {
                    let next =
                        index + 3 < content.count ? UInt16(content[index + 2]) << 8 | UInt16(content[index + 3]) : 0
                    guard UTF16.isLeadSurrogate(unit), UTF16.isTrailSurrogate(next) else {
                        failure = ReadingFailure(
                            code: .invalidText, offset: object.content + index,
                            message:
                                "UTF-16 surrogate \(String(unit, radix: 16, uppercase: true)) has no partner")
                        return 0
                    }
                    append(Unicode.Scalar(leadSurrogate: unit, trailSurrogate: next))
                    index += 2
                }
                index += 2
            }
            return count
        }
        if let failure { throw failure }
        return string
    }

    private static func number(in bytes: UnsafeRawBufferPointer, at offset: Int, size: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in 0..<size { value = value << 8 | UInt64(bytes[offset + index]) }
        return value
    }
}
