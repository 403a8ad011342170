/// A search for bytes that aren't valid UTF-8, or aren't ASCII.
enum UTF8Validation {
    /// Returns the offset of the first byte that isn't part of a well-formed character, or `nil` if there is none.
    static func firstInvalidOffset(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        let count = bytes.count
        var index = 0
        while index < count {
            while count - index >= 8, Word.load(base + index) & Word.highBits == 0 { index += 8 }
            guard index < count else { return nil }
            if base[index] < 0x80 {
                index += 1
                continue
            }
            let length = sequenceLength(base + index, available: count - index)
            guard length > 0 else { return index }
            index += length
        }
        return nil
    }

    /// Returns the offset of the first byte that isn't ASCII, or `nil` if there is none.
    @inline(__always)
    static func firstNonASCII(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        var index = 0
        while bytes.count - index >= 8, Word.load(base + index) & Word.highBits == 0 { index += 8 }
        let rest = min(bytes.count - index, 8)
        let word = rest == 8 ? Word.load(base + index) : Word.load(base + index, count: rest)
        let hits = word & Word.highBits
        return hits == 0 ? nil : index + hits.trailingZeroBitCount >> 3
    }

    /// Returns the length of the well-formed multi-byte character that starts here, or 0.
    ///
    /// The ranges are those of table 3-7 of the Unicode Standard: no surrogates, no overlong forms.
    private static func sequenceLength(_ bytes: UnsafePointer<UInt8>, available: Int) -> Int {
        func continues(_ index: Int, _ range: ClosedRange<UInt8> = 0x80...0xBF) -> Bool {
            index < available && range.contains(bytes[index])
        }
        switch bytes[0] {
        case 0xC2...0xDF: return continues(1) ? 2 : 0
        case 0xE0: return continues(1, 0xA0...0xBF) && continues(2) ? 3 : 0
        case 0xED: return continues(1, 0x80...0x9F) && continues(2) ? 3 : 0
        case 0xE1...0xEF: return continues(1) && continues(2) ? 3 : 0
        case 0xF0: return continues(1, 0x90...0xBF) && continues(2) && continues(3) ? 4 : 0
        case 0xF1...0xF3: return continues(1) && continues(2) && continues(3) ? 4 : 0
        case 0xF4: return continues(1, 0x80...0x8F) && continues(2) && continues(3) ? 4 : 0
        default: return 0
        }
    }
}
