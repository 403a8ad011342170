extension [UInt8] {
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func append(text: String) {
        append(contentsOf: text.utf8)
    }

    mutating func append(_ byte: UInt8, count: Int) {
        append(contentsOf: repeatElement(byte, count: count))
    }
}
