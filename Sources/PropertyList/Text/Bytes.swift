extension UInt8 {
    /// Whether the byte is a space, tab, line feed or carriage return.
    @inline(__always)
    var isPropertyListWhitespace: Bool {
        self == 0x20 || self == 0x0A || self == 0x09 || self == 0x0D
    }

    /// The value of a hexadecimal digit; `nil` for other bytes.
    var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    var isDecimalDigit: Bool {
        self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9")
    }
}

/// Operations on eight bytes at a time, for the searches that dominate parsing.
enum Word {
    static let ones: UInt64 = 0x0101_0101_0101_0101
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Returns the byte repeated eight times.
    @inline(__always)
    static func repeating(_ byte: UInt8) -> UInt64 {
        UInt64(byte) &* ones
    }

    /// Returns a word with the high bit set in the first zero byte, and possibly in later bytes.
    @inline(__always)
    static func zeroBytes(_ word: UInt64) -> UInt64 {
        (word &- ones) & ~word & highBits
    }

    /// Loads eight bytes in little-endian order.
    @inline(__always)
    static func load(_ bytes: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
    }

    /// Loads up to eight bytes in little-endian order, followed by zeros.
    @inline(__always)
    static func load(_ bytes: UnsafePointer<UInt8>, count: Int) -> UInt64 {
        if count >= 4 {
            let first = UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self)
            let last = UnsafeRawPointer(bytes + count - 4).loadUnaligned(as: UInt32.self)
            return UInt64(UInt32(littleEndian: first)) | UInt64(UInt32(littleEndian: last)) << UInt64(8 * (count - 4))
        }
        guard count > 0 else { return 0 }
        // One to three bytes: the first, the middle one and the last, some of which may be the same.
        return UInt64(bytes[0]) | UInt64(bytes[count >> 1]) << UInt64(8 * (count >> 1))
            | UInt64(bytes[count - 1]) << UInt64(8 * (count - 1))
    }
}
