/// The properties of a binary property list that explain differences, found without using a reader.
struct BinaryObjects {
    /// Whether some dictionary has a key more than once.
    private(set) var haveEqualKeys = false
    /// Whether some object is a set.
    private(set) var haveSet = false
    /// Whether some object's offset is invalid, even if nothing refers to the object.
    private(set) var haveStrayOffset = false
    /// Whether an ASCII string has a byte that isn't ASCII.
    private(set) var haveBytesBeyondASCII = false
    private let bytes: [UInt8]

    init(of bytes: [UInt8]) {
        self.bytes = bytes
        guard bytes.count > 40 else { return }
        let trailer = bytes.count - 32
        let (size, reference) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        let (count, table) = (number(at: trailer + 8, 8), number(at: trailer + 24, 8))
        guard let count, let table, count < bytes.count else { return }
        let offsets = (0..<count).map { number(at: table + $0 * size, size) ?? 0 }
        haveStrayOffset = offsets.contains { $0 >= table }
        haveSet = offsets.contains { $0 < bytes.count && bytes[$0] >> 4 == 0xC }
        haveBytesBeyondASCII = offsets.contains { offset in
            offset < trailer && bytes[offset] >> 4 == 5 && text(at: offset)?.contains { $0 >= 0x80 } == true
        }
        for offset in offsets where offset < trailer && bytes[offset] >> 4 == 0xD {
            guard let (start, length) = content(at: offset) else { continue }
            let keys = (0..<min(length, bytes.count)).compactMap { index -> [UInt8]? in
                guard let key = number(at: start + index * reference, reference), key < count else { return nil }
                return text(at: offsets[key])
            }
            if Set(keys).count < keys.count { haveEqualKeys = true }
        }
    }

    /// Returns a string's bytes in UTF-16.
    private func text(at offset: Int) -> [UInt8]? {
        guard offset < bytes.count, let (start, length) = content(at: offset) else { return nil }
        let width = bytes[offset] >> 4 == 6 ? 2 : 1
        guard length < bytes.count, start + length * width <= bytes.count else { return nil }
        let content = bytes[start..<start + length * width]
        return width == 2 ? Array(content) : content.flatMap { [0, $0] }
    }

    /// Returns the offset of an object's content, and the number of its parts.
    private func content(at offset: Int) -> (start: Int, count: Int)? {
        guard bytes[offset] & 0x0F == 0x0F else { return (offset + 1, Int(bytes[offset] & 0x0F)) }
        guard offset + 1 < bytes.count else { return nil }
        let size = 1 << Int(bytes[offset + 1] & 0x03)
        return number(at: offset + 2, size).map { (offset + 2 + size, $0) }
    }

    private func number(at offset: Int, _ size: Int) -> Int? {
        guard offset >= 0, size <= 8, offset <= bytes.count - size else { return nil }
        let value = bytes[offset..<offset + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return value < UInt64(Int32.max) ? Int(value) : nil
    }
}
