/// The order in which writers write a dictionary: that of the keys' UTF-8, which is that of their Unicode scalars.
enum KeyOrder {
    /// Where a key's bytes are, and the first eight of them, which decide most comparisons.
    private struct Entry {
        var prefix: UInt64
        var start: Int
        var end: Int
        var index: [String: PropertyListValue].Index
    }

    static func sorted(_ dictionary: [String: PropertyListValue]) -> [[String: PropertyListValue].Index] {
        // Sorting plain numbers over one block of bytes beats sorting strings: nothing is retained or released.
        var text = MoveStack<UInt8>(minimumCapacity: dictionary.count * 32)
        var entries: [Entry] = []
        entries.reserveCapacity(dictionary.count)
        for index in dictionary.indices {
            var key = dictionary.keys[index]
            let start = text.count
            key.withUTF8 { text.append($0) }
            let prefix = prefix(of: text.elements[start...])
            entries.append(Entry(prefix: prefix, start: start, end: text.count, index: index))
        }
        let bytes = text.elements
        entries.sort { first, second in
            guard first.prefix == second.prefix else { return first.prefix < second.prefix }
            return precedes(bytes, first, second)
        }
        withExtendedLifetime(text) {}
        return entries.map(\.index)
    }

    private static func prefix(of bytes: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64 {
        var prefix: UInt64 = 0
        for byte in bytes.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
        return bytes.count < 8 ? prefix << UInt64(8 * (8 - bytes.count)) : prefix
    }

    private static func precedes(_ bytes: UnsafeBufferPointer<UInt8>, _ first: Entry, _ second: Entry) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        var left = base + first.start
        var right = base + second.start
        let leftEnd = base + first.end
        let rightEnd = base + second.end
        while leftEnd - left >= 8, rightEnd - right >= 8 {
            let leftWord = Word.load(left).byteSwapped
            let rightWord = Word.load(right).byteSwapped
            if leftWord != rightWord { return leftWord < rightWord }
            left += 8
            right += 8
        }
        while left < leftEnd, right < rightEnd {
            if left.pointee != right.pointee { return left.pointee < right.pointee }
            left += 1
            right += 1
        }
        return leftEnd - left < rightEnd - right
    }
}
