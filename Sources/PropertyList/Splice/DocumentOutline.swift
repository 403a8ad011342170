/// The entries of a document's outermost dictionary that a splice needs: the changed entries and the neighbors of the
/// added ones.
struct DocumentOutline {
    /// The byte ranges of an entry's parts.
    struct Entry {
        var key: Range<Int>
        /// The value's range; empty and at the key's end if the key is its own value, as in `key;`.
        var value: Range<Int>
        /// The offset after the value and its terminator.
        var end: Int
    }

    /// A change to one key.
    struct Edit {
        let key: [UInt8]
        let name: String
        let value: PropertyListValue?
        /// The key's existing entry, if any.
        var found: Entry?
        /// The entry that a new entry follows; `nil` if the new entry comes first.
        var predecessor: Entry?
    }

    /// The edits, sorted by the bytes of their keys.
    private(set) var edits: [Edit]
    /// The number of entries.
    private(set) var count = 0
    private(set) var first: Entry?
    private(set) var last: Entry?
    /// Whether the keys are sorted by their bytes.
    private(set) var isOrdered = true
    /// The offset after the dictionary's opening tag or brace.
    var opening = 0
    /// Whether the dictionary is enclosed in tags or braces; a strings file isn't.
    var hasBraces = true
    /// The range of the dictionary if it is an empty element.
    var emptyElement: Range<Int>?

    /// The index of each edit by its key, with canonically equivalent keys considered equal.
    private let positions: [String: Int]
    private let areASCII: Bool
    /// The index of the first edit whose key doesn't sort before the last scanned key.
    private var next = 0
    private var previousKey: [UInt8] = []

    init(_ edits: [String: PropertyListValue?]) {
        self.edits = edits.map { Edit(key: Array($0.utf8), name: $0, value: $1) }.sorted {
            $0.key.lexicographicallyPrecedes($1.key)
        }
        positions = Dictionary(uniqueKeysWithValues: self.edits.enumerated().map { ($1.name, $0) })
        areASCII = self.edits.allSatisfy { $0.key.allSatisfy { $0 < 0x80 } }
    }

    /// The number of entries after the edits.
    var resultingCount: Int {
        edits.reduce(count) { count, edit in
            switch (edit.found, edit.value) {
            case (nil, _?): count + 1
            case (_?, nil): count - 1
            default: count
            }
        }
    }

    /// Adds the next entry.
    ///
    /// - Returns: `false` if the key repeats an edited key, or is equivalent to one but has different scalars.
    mutating func add(_ key: UnsafeBufferPointer<UInt8>, at entry: Entry) -> Bool {
        if isOrdered, count > 0 { isOrdered = Self.order(previousKey, key) < 0 }
        if isOrdered {
            while next < edits.count, Self.order(edits[next].key, key) < 0 {
                edits[next].predecessor = last
                next += 1
            }
        }
        if let position = index(of: key) {
            guard edits[position].found == nil, Self.order(edits[position].key, key) == 0 else { return false }
            edits[position].found = entry
        }
        previousKey.removeAll(keepingCapacity: true)
        previousKey.append(contentsOf: key)
        if first == nil { first = entry }
        last = entry
        count += 1
        return true
    }

    /// Ends the dictionary; the remaining new keys come last.
    mutating func end() {
        for position in edits.indices where !isOrdered || position >= next { edits[position].predecessor = last }
    }

    /// Returns the index of the edit whose key Swift considers equal to this one.
    private func index(of key: UnsafeBufferPointer<UInt8>) -> Int? {
        // Two different ASCII strings are never equivalent.
        guard areASCII, UTF8Validation.firstNonASCII(in: key) == nil else {
            return positions[String(decoding: key, as: UTF8.self)]
        }
        if isOrdered { return next < edits.count && Self.order(edits[next].key, key) == 0 ? next : nil }
        var range = edits.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let order = Self.order(edits[middle].key, key)
            if order == 0 { return middle }
            range = order < 0 ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    /// Compares two texts by their bytes; the result is negative if the first comes before the second.
    private static func order(_ first: [UInt8], _ second: UnsafeBufferPointer<UInt8>) -> Int {
        first.withUnsafeBufferPointer { first in
            guard let one = first.baseAddress, let two = second.baseAddress else { return first.count - second.count }
            let count = min(first.count, second.count)
            var index = 0
            while count - index >= 8 {
                let (left, right) = (Word.load(one + index).byteSwapped, Word.load(two + index).byteSwapped)
                if left != right { return left < right ? -1 : 1 }
                index += 8
            }
            while index < count {
                if one[index] != two[index] { return one[index] < two[index] ? -1 : 1 }
                index += 1
            }
            return first.count - second.count
        }
    }
}
