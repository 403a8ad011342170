/// The output buffer of the writers.
extension MoveStack<UInt8> {
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(text: String) {
        text.withBytes { append($0) }
    }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

    /// Appends bytes up to the first special one.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - special: A function that returns a word with the high bit set in the first special byte of eight bytes in
    ///     little-endian order, and possibly in later bytes.
    /// - Returns: The number of bytes appended.
    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>, until special: (UInt64) -> UInt64) -> Int {
        guard let base = bytes.baseAddress else { return 0 }
        reserve(bytes.count + 8)
        var index = 0
        while bytes.count - index >= 8 {
            let word = Word.load(base + index)
            let hits = special(word)
            let plain = hits.trailingZeroBitCount >> 3
            append(unchecked: word, count: plain)
            index += plain
            if hits != 0 { return index }
        }
        let word = Word.load(base + index, count: bytes.count - index)
        let plain = min(special(word).trailingZeroBitCount >> 3, bytes.count - index)
        append(unchecked: word, count: plain)
        return index + plain
    }

    @inline(__always)
    mutating func append(_ byte: UInt8, count: Int) {
        reserve(count + 8)
        var rest = count
        repeat {
            append(unchecked: Word.repeating(byte), count: min(rest, 8))
            rest -= 8
        } while rest > 0
    }

    /// Appends a number's decimal digits.
    mutating func append(decimal number: some FixedWidthInteger) {
        if number < 0 { append(UInt8(ascii: "-")) }
        let number = UInt64(number.magnitude)
        var digits = 1
        var limit: UInt64 = 10
        while number >= limit, digits < 19 {
            digits += 1
            limit *= 10
        }
        if number >= limit { digits = 20 }
        append(count: digits) { output in
            var rest = number
            for index in (0..<digits).reversed() {
                let quotient = rest / 10
                output[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest - quotient * 10)
                rest = quotient
            }
        }
    }

    /// Appends a number's low-order bytes, most significant byte first.
    mutating func append(bigEndian number: UInt64, size: Int) {
        withUnsafeBytes(of: number.bigEndian) { bytes in
            append(UnsafeBufferPointer(rebasing: bytes.assumingMemoryBound(to: UInt8.self)[(8 - size)...]))
        }
    }
}
