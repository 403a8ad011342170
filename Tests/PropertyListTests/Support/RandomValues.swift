import PropertyList

/// The SplitMix64 generator, which gives the same numbers for the same seed everywhere.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A generator of property lists with every kind of value that a given reader accepts.
struct RandomValues {
    /// The kinds of values to leave out for an oracle.
    struct Exclusions: OptionSet {
        let rawValue: Int
        /// Object numbers of archives.
        static let uid = Exclusions(rawValue: 1)
        /// Carriage returns, control characters, U+FFFE.
        static let oddText = Exclusions(rawValue: 2)
        /// NaN, infinities, zeros, and numbers whose 17 digits are not their shortest text.
        static let oddReals = Exclusions(rawValue: 4)
        /// Reals of 32 bits.
        static let real32 = Exclusions(rawValue: 8)
        /// Dates with fractions of a second.
        static let fractions = Exclusions(rawValue: 16)
        /// Whole numbers beyond `Int64.max`.
        static let unsigned = Exclusions(rawValue: 32)
        /// Reals of any width.
        static let reals = Exclusions(rawValue: 64)
        /// Characters beyond the Basic Multilingual Plane, which sort differently in UTF-16.
        static let astral = Exclusions(rawValue: 128)
    }

    var generator: SeededGenerator
    var without: Exclusions

    init(seed: UInt64, without: Exclusions = []) {
        generator = SeededGenerator(seed: seed)
        self.without = without
    }

    mutating func dictionary(depth: Int = 4) -> PropertyListValue {
        var values: [String: PropertyListValue] = [:]
        for _ in 0..<Int.random(in: 0...8, using: &generator) { values[text()] = value(depth: depth - 1) }
        return .dictionary(values)
    }

    mutating func value(depth: Int = 4) -> PropertyListValue {
        switch Int.random(in: 0..<(depth > 0 ? 13 : 10), using: &generator) {
        case 0, 1: return .string(text())
        case 2: return .integer(Int64.random(in: -300...300, using: &generator))
        case 3:
            let shift = UInt64.random(in: 0..<64, using: &generator)
            return .integer(Int64(bitPattern: generator.next() >> shift))
        case 4: return without.contains(.unsigned) ? 0 : .number(generator.next() | 1 << 63)
        case 5: return without.contains(.reals) ? true : real()
        case 6: return .boolean(Bool.random(using: &generator))
        case 7: return .date(date())
        case 8: return .data((0..<Int.random(in: 0...120, using: &generator)).map { _ in byte() })
        case 9: return without.contains(.uid) ? "" : .uid(generator.next() >> 32)
        case 10, 11: return dictionary(depth: depth)
        default: return .array((0..<Int.random(in: 0...20, using: &generator)).map { _ in value(depth: depth - 1) })
        }
    }

    private mutating func byte() -> UInt8 {
        UInt8(truncatingIfNeeded: generator.next())
    }

    private mutating func real() -> PropertyListValue {
        if !without.contains(.real32), Bool.random(using: &generator) {
            return .real32(Float(Int.random(in: -1000...1000, using: &generator)) + 0.25)
        }
        guard !without.contains(.oddReals) else {
            return .real(Double(Int.random(in: -1_000_000...1_000_000, using: &generator)) + 0.125)
        }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: return .real(.nan)
        case 1: return .real(.infinity)
        case 2: return .real(-.infinity)
        case 3: return .real(-0.0)
        case 4: return .real(0)
        default:
            let number = Double(bitPattern: generator.next())
            return .real(number.isNaN ? 0.1 : number)
        }
    }

    private mutating func date() -> PropertyListDate {
        // The years 1 to 9999.
        var seconds = Double(Int.random(in: -63_113_904_000..<252_423_993_600, using: &generator))
        if !without.contains(.fractions) { seconds += 0.25 * Double(Int.random(in: 0..<4, using: &generator)) }
        return PropertyListDate(secondsSinceReferenceDate: seconds)
    }

    mutating func text() -> String {
        let pieces: [String] = [
            "a", "Key", "z9", " ", "<", "&", ">", "\"", "'", "é", "ß", "漢字", "\t", "\n", "-", "]]>", "long text ",
        ]
        let astral = ["😀", "𝄞"]
        let odd = ["\r", "\r\n", "\u{1}", "\u{7F}", "\u{FFFE}", "\u{0}", "\u{85}", "e\u{301}"]
        var all = pieces
        if !without.contains(.astral) { all += astral }
        if !without.contains(.oddText) { all += odd }
        return (0..<Int.random(in: 0...9, using: &generator)).map { _ in all.randomElement(using: &generator) ?? "" }
            .joined()
    }
}
