/// A stack whose elements are moved in and out, never copied: no reference counts are touched on the way.
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

    /// What is on the stack, lowest first; valid until the next change.
    var elements: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: storage, count: count) }

    @inline(__always)
    mutating func append(_ element: consuming Element) {
        if count == capacity { grow(to: count + 1) }
        (storage + count).initialize(to: element)
        count += 1
    }

    /// Takes the topmost elements; the body must move all of them out.
    @inline(__always)
    mutating func takeLast<Result>(_ number: Int, _ body: (UnsafeMutablePointer<Element>) -> Result) -> Result {
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
