/// The order in which dictionary keys are written: by UTF-8, which is also the order by Unicode scalar.
enum KeyOrder {
    /// An entry's index, and the first eight bytes of its key after the prefix that all keys share.
    ///
    /// These bytes decide most comparisons.
    private struct Entry {
        var prefix: UInt64
        var number: Int
    }

    static func sorted(_ entries: [(key: String, value: PropertyListValue)]) -> [Int] {
        if entries.count < 2 { return Array(entries.indices) }
        if entries.count <= few { return sortedByInsertion(entries) }
        // Sorting plain numbers that refer to one block of bytes is faster than sorting strings, because nothing is
        // retained or released.
        var text = MoveStack<UInt8>(minimumCapacity: entries.count * 32)
        var starts: [Int] = []
        starts.reserveCapacity(entries.count + 1)
        for entry in entries {
            starts.append(text.count)
            text.append(text: entry.key)
        }
        starts.append(text.count)
        let bytes = text.elements
        let common = commonPrefix(of: bytes, starts)
        var order = entries.indices.map { number in
            Entry(prefix: prefix(of: bytes[(starts[number] + common)..<starts[number + 1]]), number: number)
        }
        order.sort { first, second in
            guard first.prefix == second.prefix else { return first.prefix < second.prefix }
            return bytes[starts[first.number]..<starts[first.number + 1]].lexicographicallyPrecedes(
                bytes[starts[second.number]..<starts[second.number + 1]])
        }
        withExtendedLifetime(text) {}
        return order.map(\.number)
    }

    /// The maximum size of a dictionary that is sorted by insertion.
    ///
    /// Most dictionaries, such as those in messages, are small.
    private static let few = 24

    private static func sortedByInsertion(_ entries: [(key: String, value: PropertyListValue)]) -> [Int] {
        let common = commonPrefix(of: entries)
        return withUnsafeTemporaryAllocation(of: Entry.self, capacity: entries.count) { sorted in
            for (number, (key, _)) in entries.enumerated() {
                let prefix = key.utf8Span.span.withUnsafeBufferPointer { Self.prefix(of: $0[common...]) }
                let entry = Entry(prefix: prefix, number: number)
                var position = number
                while position > 0, precedes(entry, sorted[position - 1], in: entries) {
                    sorted[position] = sorted[position - 1]
                    position -= 1
                }
                sorted[position] = entry
            }
            return sorted.map(\.number)
        }
    }

    private static func precedes(
        _ first: Entry, _ second: Entry, in entries: [(key: String, value: PropertyListValue)]
    ) -> Bool {
        guard first.prefix == second.prefix else { return first.prefix < second.prefix }
        return entries[first.number].key.utf8Span.span.withUnsafeBufferPointer { first in
            entries[second.number].key.utf8Span.span.withUnsafeBufferPointer { first.lexicographicallyPrecedes($0) }
        }
    }

    /// Returns the number of leading bytes that all keys share.
    private static func commonPrefix(of entries: [(key: String, value: PropertyListValue)]) -> Int {
        entries[0].key.utf8Span.span.withUnsafeBufferPointer { first -> Int in
            var common = first.count
            for (key, _) in entries[1...] {
                common = key.utf8Span.span.withUnsafeBufferPointer { equalBytes($0[...], first, upTo: common) }
            }
            return common
        }
    }

    /// Returns the number of leading bytes that all keys share.
    private static func commonPrefix(of bytes: UnsafeBufferPointer<UInt8>, _ starts: [Int]) -> Int {
        var common = starts[1] - starts[0]
        for number in 1..<(starts.count - 1) {
            common = equalBytes(bytes[starts[number]..<starts[number + 1]], bytes, upTo: common)
        }
        return common
    }

    /// Returns the number of leading bytes, up to a maximum, that a key shares with the others.
    private static func equalBytes(
        _ key: Slice<UnsafeBufferPointer<UInt8>>, _ others: UnsafeBufferPointer<UInt8>, upTo common: Int
    ) -> Int {
        var equal = 0
        while equal < min(common, key.count), key[key.startIndex + equal] == others[equal] { equal += 1 }
        return equal
    }

    private static func prefix(of bytes: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64 {
        var prefix: UInt64 = 0
        for byte in bytes.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
        return bytes.count < 8 ? prefix << UInt64(8 * (8 - bytes.count)) : prefix
    }
}
