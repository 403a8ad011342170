/// An index of the scalars already written, keyed by their bytes, which fully identify an object.
///
/// It is a hash table of object numbers. Each process uses a different hash function, so an attacker can't craft a
/// document whose values all collide.
struct ScalarIndex {
    private struct Slot {
        var hash: UInt32
        /// The object's number plus one; 0 for a free slot.
        var object: UInt32 = 0
    }

    private static let processSeed = UInt64.random(in: .min ... .max)
    private static let processFactor = UInt64.random(in: .min ... .max) | 1
    // These are copies, because each access to a static property checks whether it has been initialized.
    private let seed = Self.processSeed
    private let factor = Self.processFactor

    /// The slots; their number is a power of two, and at most three quarters are in use.
    private var slots = [Slot](repeating: Slot(hash: 0), count: 64)
    private var taken = 0

    /// Returns the number of an earlier object with the same bytes as the one at the end of the output, if there is
    /// one.
    ///
    /// Otherwise, adds the new object to the index and returns `nil`.
    mutating func find(
        in output: UnsafeBufferPointer<UInt8>, from position: Int, as object: Int, offsets: [Int]
    ) -> Int? {
        guard let base = output.baseAddress else { return nil }
        let count = output.count - position
        let hash = hash(of: base + position, count: count)
        var index = Int(hash) & (slots.count - 1)
        while slots[index].object > 0 {
            let known = Int(slots[index].object) - 1
            // No object's bytes are a prefix of another's, so comparing this many bytes is enough.
            if slots[index].hash == hash, Self.areSame(base + offsets[known], base + position, count: count) {
                return known
            }
            index = (index + 1) & (slots.count - 1)
        }
        slots[index] = Slot(hash: hash, object: UInt32(truncatingIfNeeded: object + 1))
        taken += 1
        if taken > slots.count / 4 * 3 { grow() }
        return nil
    }

    private mutating func grow() {
        var larger = [Slot](repeating: Slot(hash: 0), count: slots.count * 2)
        for slot in slots where slot.object > 0 {
            var index = Int(slot.hash) & (larger.count - 1)
            while larger[index].object > 0 { index = (index + 1) & (larger.count - 1) }
            larger[index] = slot
        }
        slots = larger
    }

    private static func areSame(_ first: UnsafePointer<UInt8>, _ second: UnsafePointer<UInt8>, count: Int) -> Bool {
        var index = 0
        while count - index >= 8 {
            if Word.load(first + index) != Word.load(second + index) { return false }
            index += 8
        }
        while index < count {
            if first[index] != second[index] { return false }
            index += 1
        }
        return true
    }

    private func hash(of bytes: UnsafePointer<UInt8>, count: Int) -> UInt32 {
        var hash = seed
        var index = 0
        while count - index >= 8 {
            mix(&hash, with: Word.load(bytes + index))
            index += 8
        }
        var rest = UInt64(count)
        while index < count {
            rest = rest << 8 | UInt64(bytes[index])
            index += 1
        }
        mix(&hash, with: rest)
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    @inline(__always)
    private func mix(_ hash: inout UInt64, with word: UInt64) {
        let product = (hash ^ word).multipliedFullWidth(by: factor)
        hash = product.high ^ product.low
    }
}
