/// The containers that a writer has open, and the values in them that it has yet to write.
///
/// Writers use this stack instead of recursion. A container's values and the text of its keys are copied here when it
/// opens, in the order in which they are written. Writing then reads memory in sequence, and changes hardly any
/// reference counts, each of which would stall on memory that isn't in the cache.
struct WriterStack: ~Copyable {
    private struct Level {
        var isDictionary = false
        var count = 0
        /// The number of values begun so far.
        var next = 0
        /// The sizes of `values`, `ends` and `text` when the container was opened.
        var firstValue = 0
        var firstKey = 0
        var firstByte = 0
    }

    private let format: PropertyListFormat
    /// The innermost open container.
    private var innermost = Level()
    /// The containers around it, after a level that stands for the document.
    private var outer: [Level] = []
    private var values = MoveStack<PropertyListValue>()
    /// The keys of the open dictionaries, one after another, and the offset of each key's end.
    private var text = MoveStack<UInt8>(minimumCapacity: 256)
    private var ends = MoveStack<Int>()
    private var unsorted = UnsortedEntries()

    init(format: PropertyListFormat) {
        self.format = format
    }

    /// The number of open containers.
    var depth: Int { outer.count }

    /// Whether the innermost open container is a dictionary.
    var isInDictionary: Bool { innermost.isDictionary }

    /// The number of values begun so far in the innermost container.
    var position: Int { innermost.next }

    /// The part of the outermost container's values that have been begun, above 0 and up to 1.
    var progress: Double {
        let outermost = depth > 1 ? outer[1] : innermost
        return outermost.next > 0 ? Double(outermost.next) / Double(outermost.count) : 1
    }

    // MARK: Containers

    mutating func open(_ array: [PropertyListValue]) throws(PropertyListError) {
        try begin(isDictionary: false, count: array.count)
        values.append(copying: array)
    }

    mutating func open(_ dictionary: [String: PropertyListValue]) throws(PropertyListError) {
        try begin(isDictionary: true, count: dictionary.count)
        unsorted.append(dictionary)
        unsorted.moveAll(to: &values, text: &text, ends: &ends)
        // Let the document have the memory of a large dictionary.
        if dictionary.count > 256 { unsorted = UnsortedEntries() }
    }

    private mutating func begin(isDictionary: Bool, count: Int) throws(PropertyListError) {
        try checkRoom()
        outer.append(innermost)
        innermost = Level(
            isDictionary: isDictionary, count: count, firstValue: values.count, firstKey: ends.count,
            firstByte: text.count)
    }

    /// Checks that one more container may be opened.
    func checkRoom() throws(PropertyListError) {
        let limit = PropertyListLimits().depth
        guard depth < limit else {
            throw PropertyListError(
                code: .tooDeep, format: format, keyPath: keyPath,
                message: "containers are nested more than \(limit) levels deep, which no reader accepts")
        }
    }

    /// Closes the innermost container.
    mutating func close() {
        values.drop(after: innermost.firstValue)
        ends.drop(after: innermost.firstKey)
        text.drop(after: innermost.firstByte)
        innermost = outer.removeLast()
    }

    // MARK: Entries

    /// Moves the next value out of the innermost container; returns `nil` if there is none.
    @inline(__always)
    mutating func next() -> PropertyListValue? {
        guard innermost.next < innermost.count else { return nil }
        innermost.next += 1
        return values.exchange(at: innermost.firstValue + innermost.next - 1, with: .boolean(false))
    }

    /// Returns the UTF-8 of a key of the innermost dictionary; valid until the next container is opened.
    @inline(__always)
    func key(at position: Int) -> UnsafeBufferPointer<UInt8> { key(at: position, of: innermost) }

    @inline(__always)
    private func key(at position: Int, of level: Level) -> UnsafeBufferPointer<UInt8> {
        let start = position > 0 ? ends.elements[level.firstKey + position - 1] : level.firstByte
        return UnsafeBufferPointer(rebasing: text.elements[start..<ends.elements[level.firstKey + position]])
    }

    /// The path of the value being written, as `Key.Key[index]`.
    var keyPath: String {
        var path = ""
        for level in outer + [innermost] where level.next > 0 {
            if level.isDictionary {
                path += (path.isEmpty ? "" : ".") + String(decoding: key(at: level.next - 1, of: level), as: UTF8.self)
            } else {
                path += "[\(level.next - 1)]"
            }
        }
        return path
    }
}

/// The entries of a dictionary on their way to a `WriterStack`.
private struct UnsortedEntries: ~Copyable {
    private var values = MoveStack<PropertyListValue>()
    /// The text of the keys, and the offset of each key's start and of the last key's end.
    private var text = MoveStack<UInt8>(minimumCapacity: 256)
    private var starts = MoveStack<Int>()
    private var order = MoveStack<KeyOrder.Entry>()

    mutating func append(_ dictionary: [String: PropertyListValue]) {
        // With a loop of its own that calls nothing, copying the keys' text needs no retains.
        let count = dictionary.keys.reduce(0) { $0 + $1.utf8.count }
        starts.append(count: dictionary.count + 1) { starts in
            text.append(count: count) { text in
                var (number, offset) = (0, 0)
                for key in dictionary.keys {
                    (starts + number).initialize(to: offset)
                    key.withBytes { bytes in
                        guard let base = bytes.baseAddress else { return }
                        (text + offset).initialize(from: base, count: bytes.count)
                    }
                    number += 1
                    offset += key.utf8.count
                }
                (starts + number).initialize(to: offset)
            }
        }
        values.reserve(dictionary.count)
        for value in dictionary.values { values.append(value) }
    }

    mutating func moveAll(
        to values: inout MoveStack<PropertyListValue>, text: inout MoveStack<UInt8>, ends: inout MoveStack<Int>
    ) {
        KeyOrder.sort(&self.text, starts: starts.elements, into: &order)
        let count = order.count
        text.reserve(self.text.count)
        ends.reserve(count)
        values.reserve(count)
        self.values.popLast(count) { unsorted in
            for entry in order.elements { values.append((unsorted + entry.number).move()) }
        }
        for entry in order.elements {
            let key = starts.elements[entry.number]..<starts.elements[entry.number + 1]
            text.append(UnsafeBufferPointer(rebasing: self.text.elements[key]))
            ends.append(text.count)
        }
        self.text.drop(after: 0)
        starts.drop(after: 0)
        order.drop(after: 0)
    }
}
