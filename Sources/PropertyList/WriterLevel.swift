/// A container that a writer is in the middle of: writers keep a stack of these in place of recursion.
struct WriterLevel {
    /// A dictionary's keys, sorted; empty for an array.
    let keys: [String]
    /// The values, in the keys' order for a dictionary.
    let values: [PropertyListValue]
    /// Whether it is a dictionary.
    let isDictionary: Bool
    /// How many values have been begun.
    var next = 0

    init(_ array: [PropertyListValue]) {
        keys = []
        values = array
        isDictionary = false
    }

    init(_ dictionary: [String: PropertyListValue]) {
        let sorted = KeyOrder.sorted(dictionary)
        keys = sorted.map(\.key)
        values = sorted.map(\.value)
        isDictionary = true
    }
}

extension [WriterLevel] {
    /// Opens a container, unless too many are open.
    mutating func open(_ level: WriterLevel, format: PropertyListFormat) throws(PropertyListError) {
        let limit = PropertyListLimits().depth
        guard count < limit else {
            throw PropertyListError(
                code: .tooDeep, format: format, keyPath: keyPath,
                message: "more than \(limit) containers are nested, which no reader would accept")
        }
        append(level)
    }

    /// The value being written, as `Key.Key[index]`.
    var keyPath: String {
        var path = ""
        for level in self where level.next > 0 {
            if level.isDictionary {
                path += (path.isEmpty ? "" : ".") + level.keys[level.next - 1]
            } else {
                path += "[\(level.next - 1)]"
            }
        }
        return path
    }
}

/// The order in which writers write a dictionary: that of the keys' UTF-8, which is that of their Unicode scalars.
enum KeyOrder {
    private struct Entry {
        /// The key's first eight bytes, which decide most comparisons without looking at the string.
        var prefix: UInt64
        var key: String
        var value: PropertyListValue
    }

    static func sorted(
        _ dictionary: [String: PropertyListValue]
    ) -> [(key: String, value: PropertyListValue)] {
        var entries: [Entry] = []
        entries.reserveCapacity(dictionary.count)
        for (key, value) in dictionary {
            var copy = key
            let prefix = copy.withUTF8 { bytes in
                var prefix: UInt64 = 0
                for byte in bytes.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
                return bytes.count < 8 ? prefix << UInt64(8 * (8 - bytes.count)) : prefix
            }
            entries.append(Entry(prefix: prefix, key: key, value: value))
        }
        entries.sort { first, second in
            first.prefix == second.prefix ? precedes(first.key, second.key) : first.prefix < second.prefix
        }
        return entries.map { ($0.key, $0.value) }
    }

    private static func precedes(_ first: String, _ second: String) -> Bool {
        let decided = first.utf8.withContiguousStorageIfAvailable { first in
            second.utf8.withContiguousStorageIfAvailable { second in
                first.lexicographicallyPrecedes(second)
            }
        }
        return (decided ?? nil) ?? first.utf8.lexicographicallyPrecedes(second.utf8)
    }
}
