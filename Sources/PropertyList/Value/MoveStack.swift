/// A stack whose elements are moved in and out and never copied, so that no reference counts change.
struct MoveStack<Element>: ~Copyable {
    private var storage: UnsafeMutablePointer<Element>
    private var capacity: Int
    private(set) var count = 0

    init(minimumCapacity: Int = 16) {
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

    mutating func grow(to needed: Int) {
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
        if capacity - count < bytes.count { grow(to: count + bytes.count) }
        (storage + count).initialize(from: base, count: bytes.count)
        count += bytes.count
    }

    mutating func append(_ scalar: Unicode.Scalar) {
        for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
    }

    mutating func removeAll() {
        count = 0
    }
}

extension MoveStack<PropertyListValue> {
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
    /// The dictionary is built in one go, so it never grows, and no reference count changes between two insertions,
    /// where the change would stall on memory that the previous insertion has just written. `distinct` is the maximum
    /// number of different keys.
    mutating func popDictionary(
        _ number: Int, keys: inout MoveStack<String>, distinct: Int = .max
    ) -> [String: PropertyListValue] {
        keys.popLast(number) { keys in
            popLast(number) { values in
                var dictionary = [String: PropertyListValue](minimumCapacity: min(number, distinct))
                for index in 0..<number { dictionary[(keys + index).move()] = (values + index).move() }
                return dictionary
            }
        }
    }
}
