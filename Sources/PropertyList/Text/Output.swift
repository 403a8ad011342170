/// The output buffer of the writers.
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
        // Write the digits from last to first; 64 bits need at most 20.
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

    /// Appends a number's low-order bytes, most significant byte first.
    mutating func append(bigEndian number: UInt64, size: Int) {
        withUnsafeBytes(of: number.bigEndian) { bytes in
            append(UnsafeBufferPointer(rebasing: bytes.assumingMemoryBound(to: UInt8.self)[(8 - size)...]))
        }
    }

    /// Drops everything appended after an offset.
    mutating func drop(after position: Int) {
        popLast(count - position) { _ in }
    }
}
