/// A 64-bit hash of bytes, the same in every process and on every machine: xxHash64 with seed 0.
///
/// It identifies content that was seen before, and detects damaged entries of the change log. It protects against
/// accidents, not forgery: anyone who may write to the directory can change the preferences anyway. For the algorithm,
/// see https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
package struct ContentHash: Hashable, Sendable, CustomStringConvertible {
    package let value: UInt64

    package init(value: UInt64) {
        self.value = value
    }

    package init(_ bytes: [UInt8]) {
        self.value = bytes.withUnsafeBytes(Self.hash)
    }

    package init(_ bytes: ArraySlice<UInt8>) {
        self.value = bytes.withUnsafeBytes(Self.hash)
    }

    /// The value as sixteen hexadecimal digits.
    package var description: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var position = 0
        var hash: UInt64
        if bytes.count >= 32 {
            var lanes = (prime1 &+ prime2, prime2, UInt64(0), 0 &- prime1)
            while position + 32 <= bytes.count {
                lanes.0 = round(lanes.0, adding: word(in: bytes, at: position))
                lanes.1 = round(lanes.1, adding: word(in: bytes, at: position + 8))
                lanes.2 = round(lanes.2, adding: word(in: bytes, at: position + 16))
                lanes.3 = round(lanes.3, adding: word(in: bytes, at: position + 24))
                position += 32
            }
            hash =
                rotate(lanes.0, by: 1) &+ rotate(lanes.1, by: 7) &+ rotate(lanes.2, by: 12) &+ rotate(lanes.3, by: 18)
            for lane in [lanes.0, lanes.1, lanes.2, lanes.3] {
                hash = (hash ^ round(0, adding: lane)) &* prime1 &+ prime4
            }
        } else {
            hash = prime5
        }
        hash = hash &+ UInt64(bytes.count)
        while position + 8 <= bytes.count {
            hash = rotate(hash ^ round(0, adding: word(in: bytes, at: position)), by: 27) &* prime1 &+ prime4
            position += 8
        }
        if position + 4 <= bytes.count {
            let half = UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            hash = rotate(hash ^ (half &* prime1), by: 23) &* prime2 &+ prime3
            position += 4
        }
        while position < bytes.count {
            hash = rotate(hash ^ (UInt64(bytes[position]) &* prime5), by: 11) &* prime1
            position += 1
        }
        hash = (hash ^ (hash >> 33)) &* prime2
        hash = (hash ^ (hash >> 29)) &* prime3
        return hash ^ (hash >> 32)
    }

    private static func word(in bytes: UnsafeRawBufferPointer, at position: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    private static func round(_ lane: UInt64, adding word: UInt64) -> UInt64 {
        rotate(lane &+ word &* prime2, by: 31) &* prime1
    }

    private static func rotate(_ value: UInt64, by bits: UInt64) -> UInt64 {
        value << bits | value >> (64 - bits)
    }
}
