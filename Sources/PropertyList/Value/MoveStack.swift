/// A stack whose elements are moved in and out and never copied, so that no reference counts change.
struct MoveStack<Element>: ~Copyable {
    private var storage: UnsafeMutablePointer<Element>
    private var capacity: Int
    private(set) var count = 0

    init(minimumCapacity: Int = 32) {
        capacity = max(minimumCapacity, 1)
        storage = .allocate(capacity: capacity)
    }

    deinit {
        storage.deinitialize(count: count)
        storage.deallocate()
    }

    /// The elements, bottom first; valid until the next change.
    var elements: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: storage, count: count) }

    @inline(__always)
    mutating func append(_ element: consuming Element) {
        if count == capacity { grow(to: count + 1) }
        (storage + count).initialize(to: element)
        count += 1
    }

    /// Pops the topmost elements; the body must move all of them out.
    @inline(__always)
    mutating func popLast<Result>(_ number: Int, _ body: (UnsafeMutablePointer<Element>) -> Result) -> Result {
        count -= number
        return body(storage + count)
    }

    /// Makes room for more elements.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity - count < more { grow(to: count + more) }
    }

    /// Appends elements that the body initializes, all of them.
    @inline(__always)
    mutating func append(count more: Int, _ body: (UnsafeMutablePointer<Element>) -> Void) {
        reserve(more)
        body(storage + count)
        count += more
    }

    /// Drops all elements after the first ones.
    mutating func drop(after position: Int) {
        (storage + position).deinitialize(count: count - position)
        count = position
    }

    /// Replaces an element and returns the old one.
    @inline(__always)
    mutating func exchange(at position: Int, with element: consuming Element) -> Element {
        let old = (storage + position).move()
        (storage + position).initialize(to: element)
        return old
    }

    /// Changes the topmost elements in place.
    @inline(__always)
    mutating func withLast<Result>(_ number: Int, _ body: (UnsafeMutableBufferPointer<Element>) -> Result) -> Result {
        body(UnsafeMutableBufferPointer(start: storage + count - number, count: number))
    }

    @inline(never)
    private mutating func grow(to needed: Int) {
        capacity = max(capacity * 2, needed)
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
        larger.moveInitialize(from: storage, count: count)
        storage.deallocate()
        storage = larger
    }
}

extension MoveStack<UInt8> {
    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress else { return }
        reserve(bytes.count)
        (storage + count).initialize(from: base, count: bytes.count)
        count += bytes.count
    }

    /// Appends the first bytes of a word in little-endian order; there must be room for all eight.
    @inline(__always)
    mutating func append(unchecked word: UInt64, count more: Int) {
        UnsafeMutableRawPointer(storage + count).storeBytes(of: word.littleEndian, as: UInt64.self)
        count += more
    }

    mutating func append(_ scalar: Unicode.Scalar) {
        for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
    }

    mutating func removeAll() {
        count = 0
    }
}

extension MoveStack<PropertyListValue> {
    /// Appends copies of the values.
    mutating func append(copying values: [PropertyListValue]) {
        reserve(values.count)
        _ = UnsafeMutableBufferPointer(start: storage + count, count: values.count).initialize(fromContentsOf: values)
        count += values.count
    }

    /// Pops the topmost values as an array.
    mutating func popArray(_ number: Int) -> [PropertyListValue] {
        popLast(number) { values in
            [PropertyListValue](unsafeUninitializedCapacity: number) { output, initialized in
                output.baseAddress?.moveInitialize(from: values, count: number)
                initialized = number
            }
        }
    }

    /// Pops the topmost values and keys as a dictionary; if keys are equal, the last one's value wins, as in
    /// Foundation.
    ///
    /// The dictionary is built in one go, so it never grows, and no reference count changes between two insertions.
    /// Such a change would stall on memory that the previous insertion has just written. `distinct` is the maximum
    /// number of different keys.
    mutating func popDictionary(
        _ number: Int, keys: inout MoveStack<String>, distinct: Int = .max
    ) -> [String: PropertyListValue] {
        keys.popLast(number) { keys in
            popLast(number) { values in
                let entries = MovedEntries(
                    underestimatedCount: min(number, distinct), keys: keys, values: values, end: keys + number)
                return Dictionary(entries) { $1 }
            }
        }
    }
}

/// A sequence that moves keys and values out of memory.
///
/// A dictionary made of a sequence allocates its storage by its number, and, unlike with
/// `Dictionary(minimumCapacity:)`, the compiler knows the types.
private struct MovedEntries: Sequence, IteratorProtocol {
    let underestimatedCount: Int
    var keys: UnsafeMutablePointer<String>
    var values: UnsafeMutablePointer<PropertyListValue>
    let end: UnsafeMutablePointer<String>

    @inline(__always)
    mutating func next() -> (String, PropertyListValue)? {
        guard keys < end else { return nil }
        defer { (keys, values) = (keys + 1, values + 1) }
        return (keys.move(), values.move())
    }
}
