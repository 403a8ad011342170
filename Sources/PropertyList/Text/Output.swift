extension [UInt8] {
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func append(text: String) {
        append(contentsOf: text.utf8)
    }

    /// Appends a number's decimal digits.
    mutating func append(decimal number: some FixedWidthInteger) {
        if number < 0 { append(UInt8(ascii: "-")) }
        let first = count
        var rest = number.magnitude
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
            rest = quotient
        } while rest > 0
        self[first...].reverse()
    }

    mutating func append(_ byte: UInt8, count: Int) {
        append(contentsOf: repeatElement(byte, count: count))
    }
}
