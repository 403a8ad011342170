/// What writers write to.
extension MoveStack<UInt8> {
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(text: String) {
        text.utf8Span.span.withUnsafeBufferPointer { append($0) }
    }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

    mutating func append(_ byte: UInt8, count: Int) {
        for _ in 0..<count { append(byte) }
    }

    /// Appends a number's decimal digits.
    mutating func append(decimal number: some FixedWidthInteger) {
        if number < 0 { append(UInt8(ascii: "-")) }
        // From the last digit on, to where 64 bits have their first.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var first = digits.count
            var rest = number.magnitude
            repeat {
                let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
                first -= 1
                digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
                rest = quotient
            } while rest > 0
            append(UnsafeBufferPointer(rebasing: digits[first...]))
        }
    }

    /// Appends a number's last bytes, the most significant first.
    mutating func append(bigEndian number: UInt64, size: Int) {
        withUnsafeBytes(of: number.bigEndian) { bytes in
            append(UnsafeBufferPointer(rebasing: bytes.assumingMemoryBound(to: UInt8.self)[(8 - size)...]))
        }
    }

    /// Drops what was appended after a place.
    mutating func drop(after place: Int) {
        takeLast(count - place) { _ in }
    }
}
