/// The order in which dictionary keys are written: by UTF-8, which is also the order by Unicode scalar.
///
/// It sorts plain numbers that refer to one block of bytes, because sorting strings retains and releases them.
enum KeyOrder {
    /// An entry's number, and the first eight bytes of its key after the prefix that all keys share.
    ///
    /// These bytes decide most comparisons.
    struct Entry {
        var prefix: UInt64
        var number: Int
    }

    /// Sorts the entries of a dictionary.
    ///
    /// - Parameters:
    ///   - text: The text of the keys.
    ///   - starts: The offset of each key in the text, and the offset of the last key's end.
    ///   - order: The stack to which the entries are appended in order.
    static func sort(
        _ text: inout MoveStack<UInt8>, starts: UnsafeBufferPointer<Int>, into order: inout MoveStack<Entry>
    ) {
        let count = starts.count - 1
        // Keep loads of eight bytes that begin in a key within the text.
        text.append(bigEndian: 0, size: padding)
        let keys = KeyTexts(text: text.elements, starts: starts)
        let common = keys.commonPrefix
        order.append(count: count) { entries in
            for number in 0..<count {
                (entries + number).initialize(
                    to: Entry(prefix: keys.prefix(of: number, after: common), number: number))
            }
        }
        order.withLast(count) { entries in
            if count <= few { sortByInsertion(entries, of: keys) } else { sortByByte(entries, of: keys) }
        }
        text.drop(after: text.count - padding)
    }

    /// The number of bytes that sorting needs after the text.
    private static let padding = 8

    /// The maximum size of a dictionary that is sorted by insertion.
    ///
    /// Most dictionaries, such as those in messages, are small.
    private static let few = 32

    private static func sortByInsertion(_ entries: UnsafeMutableBufferPointer<Entry>, of keys: KeyTexts) {
        for number in entries.indices {
            let entry = entries[number]
            var position = number
            while position > 0, keys.precedes(entry, entries[position - 1]) {
                entries[position] = entries[position - 1]
                position -= 1
            }
            entries[position] = entry
        }
    }

    /// Sorts by each byte of the prefixes in turn, the last one first, and then the entries with equal prefixes.
    ///
    /// Unlike comparisons, counting bytes gives the processor nothing to mispredict.
    private static func sortByByte(_ entries: UnsafeMutableBufferPointer<Entry>, of keys: KeyTexts) {
        let varying = entries.reduce(0) { $0 | ($1.prefix ^ entries[0].prefix) }
        withUnsafeTemporaryAllocation(of: Entry.self, capacity: entries.count) { spare in
            withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { positions in
                var (source, target) = (entries, spare)
                for shift in stride(from: 0, to: 64, by: 8) as StrideTo<UInt64> where varying >> shift & 0xFF != 0 {
                    positions.initialize(repeating: 0)
                    for entry in source { positions[Int(entry.prefix >> shift & 0xFF)] += 1 }
                    var next = 0
                    for byte in positions.indices { (positions[byte], next) = (next, next + positions[byte]) }
                    for entry in source {
                        let byte = Int(entry.prefix >> shift & 0xFF)
                        target[positions[byte]] = entry
                        positions[byte] += 1
                    }
                    swap(&source, &target)
                }
                if source.baseAddress != entries.baseAddress { _ = entries.update(fromContentsOf: source) }
            }
        }
        var first = 0
        while first < entries.count {
            var end = first + 1
            while end < entries.count, entries[end].prefix == entries[first].prefix { end += 1 }
            if end - first > 1 { entries[first..<end].sort(by: keys.precedes) }
            first = end
        }
    }
}

/// The text of a dictionary's keys, in one block that ends with eight more bytes.
private struct KeyTexts {
    let text: UnsafeBufferPointer<UInt8>
    /// The offset of each key in the text, and the offset of the last key's end.
    let starts: UnsafeBufferPointer<Int>

    /// The number of leading bytes that all keys share.
    var commonPrefix: Int {
        let numbers = 0..<(starts.count - 1)
        guard numbers.count > 1 else { return 0 }
        let shortest = numbers.reduce(.max) { min($0, starts[$1 + 1] - starts[$1]) }
        var common = 0
        while true {
            let first = word(at: starts[0] + common)
            let difference = numbers.reduce(0) { $0 | (word(at: starts[$1] + common) ^ first) }
            common += difference.leadingZeroBitCount >> 3
            guard difference == 0, common < shortest else { return min(common, shortest) }
        }
    }

    /// Returns the first eight bytes of a key after the prefix that all keys share, padded with zeros.
    func prefix(of number: Int, after common: Int) -> UInt64 {
        let start = starts[number] + common
        let count = starts[number + 1] - start
        return count < 8 ? word(at: start) & ~(.max >> UInt64(8 * count)) : word(at: start)
    }

    @inline(__always)
    func precedes(_ first: KeyOrder.Entry, _ second: KeyOrder.Entry) -> Bool {
        first.prefix == second.prefix ? precedes(first.number, second.number) : first.prefix < second.prefix
    }

    private func precedes(_ first: Int, _ second: Int) -> Bool {
        let counts = (starts[first + 1] - starts[first], starts[second + 1] - starts[second])
        let common = min(counts.0, counts.1)
        var index = 0
        while index < common {
            let words = (word(at: starts[first] + index), word(at: starts[second] + index))
            let equal = (words.0 ^ words.1).leadingZeroBitCount >> 3
            if index + equal < common, equal < 8 { return words.0 < words.1 }
            index += 8
        }
        return counts.0 < counts.1
    }

    /// Returns eight bytes of the text, so that the words' order is that of the bytes.
    @inline(__always)
    private func word(at offset: Int) -> UInt64 {
        UInt64(bigEndian: UnsafeRawBufferPointer(text).loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
