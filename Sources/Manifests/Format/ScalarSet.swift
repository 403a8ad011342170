/// A set of characters in a regular expression, such as `a`, `.`, `[a-z_]` and `\d`.
struct ScalarSet: Sendable, Hashable {
    private var ranges: [ClosedRange<UInt32>] = []
    private var classes: [Member] = []
    private var isInverted = false

    /// A class of characters by their Unicode properties, or its opposite.
    private struct Member: Sendable, Hashable {
        var property: Property
        var isInverted: Bool

        func contains(_ scalar: Unicode.Scalar) -> Bool { property.contains(scalar) != isInverted }
    }

    /// A property of characters.
    enum Property: Sendable, Hashable {
        /// A decimal digit, `\d`.
        case digit
        /// A letter, a mark, a number or a connector such as the underscore, `\w`.
        case word
        /// White space, `\s`.
        case space
        /// A general category such as `Lu`, or a group of them such as `L`, `\p{L}`.
        case category(String)

        fileprivate func contains(_ scalar: Unicode.Scalar) -> Bool {
            let properties = scalar.properties
            return switch self {
            case .digit: properties.generalCategory == .decimalNumber
            case .word:
                properties.isAlphabetic
                    || ["M", "N"].contains(properties.generalCategory.abbreviation.prefix(1))
                    || properties.generalCategory == .connectorPunctuation
            case .space: properties.isWhitespace
            case .category(let name): properties.generalCategory.abbreviation.hasPrefix(name)
            }
        }
    }

    /// The set of all characters except the line feed, `.`.
    static var anyButNewline: ScalarSet {
        var set = ScalarSet()
        set.insert("\n"..."\n")
        set.invert()
        return set
    }

    mutating func insert(_ range: ClosedRange<Unicode.Scalar>) {
        ranges.append(range.lowerBound.value...range.upperBound.value)
    }

    mutating func insert(_ property: Property, isInverted: Bool) {
        let member = Member(property: property, isInverted: isInverted)
        if !classes.contains(member) { classes.append(member) }
    }

    /// The time of a test, as a multiple of that of a small set.
    var cost: Int { 1 + (ranges.count + 4 * classes.count) / 16 }

    /// Replaces the set by all other characters.
    mutating func invert() { isInverted.toggle() }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        let isMember =
            ranges.contains { $0.contains(scalar.value) }
            || !classes.isEmpty && classes.contains { $0.contains(scalar) }
        return isMember != isInverted
    }
}

extension Unicode.GeneralCategory {
    /// The two-letter name of the category in the Unicode Standard.
    fileprivate var abbreviation: String {
        switch self {
        case .uppercaseLetter: "Lu"
        case .lowercaseLetter: "Ll"
        case .titlecaseLetter: "Lt"
        case .modifierLetter: "Lm"
        case .otherLetter: "Lo"
        case .nonspacingMark: "Mn"
        case .spacingMark: "Mc"
        case .enclosingMark: "Me"
        case .decimalNumber: "Nd"
        case .letterNumber: "Nl"
        case .otherNumber: "No"
        case .connectorPunctuation: "Pc"
        case .dashPunctuation: "Pd"
        case .openPunctuation: "Ps"
        case .closePunctuation: "Pe"
        case .initialPunctuation: "Pi"
        case .finalPunctuation: "Pf"
        case .otherPunctuation: "Po"
        case .mathSymbol: "Sm"
        case .currencySymbol: "Sc"
        case .modifierSymbol: "Sk"
        case .otherSymbol: "So"
        case .spaceSeparator: "Zs"
        case .lineSeparator: "Zl"
        case .paragraphSeparator: "Zp"
        case .control: "Cc"
        case .format: "Cf"
        case .surrogate: "Cs"
        case .privateUse: "Co"
        case .unassigned: "Cn"
        @unknown default: "Cn"
        }
    }
}
