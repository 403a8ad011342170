/// A set of the bytes of a document that are known to be in use.
struct ByteCover {
    /// One bit for each byte; the bits behind the last byte are set.
    private var words: [UInt64]

    /// Creates a set without any of a document's bytes.
    init(count: Int) {
        words = [UInt64](repeating: 0, count: (count + 63) / 64)
        if count % 64 > 0 { words[words.count - 1] = ~0 << UInt64(count % 64) }
    }

    /// Adds a range that isn't empty; returns `false` if some of it is in the set already.
    mutating func insert(_ range: Range<Int>) -> Bool {
        let (first, last) = (range.lowerBound / 64, (range.upperBound - 1) / 64)
        for index in first...last {
            var mask = ~UInt64(0)
            if index == first { mask &= ~0 << UInt64(range.lowerBound % 64) }
            if index == last { mask &= ~0 >> UInt64(63 - (range.upperBound - 1) % 64) }
            guard words[index] & mask == 0 else { return false }
            words[index] |= mask
        }
        return true
    }

    /// Calls a closure with the position of each byte that isn't in the set.
    func forEachGap(_ body: (Int) -> Void) {
        for (index, word) in words.enumerated() {
            var free = ~word
            while free != 0 {
                body(index * 64 + free.trailingZeroBitCount)
                free &= free - 1
            }
        }
    }
}
