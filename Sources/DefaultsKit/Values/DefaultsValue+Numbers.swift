public import PropertyList

/// Integers of every width are stored directly as whole numbers, although they are `Codable`.
extension DefaultsValue where Self: FixedWidthInteger & Codable {
    /// Creates the number from a whole number, a real without a fraction, a string that is a number, or a Boolean;
    /// `nil` if it doesn't fit.
    public init?(propertyListValue: PropertyListValue) {
        switch propertyListValue {
        case .string(let text): self.init(text.withoutSurroundingSpace)
        case .boolean(let flag): self = flag ? 1 : 0
        default: self.init(wholeNumber: propertyListValue)
        }
    }

    /// A whole number; `nil` for a number that doesn't fit in 64 bits.
    public var propertyListValue: PropertyListValue? { Int64(exactly: self).map(PropertyListValue.integer) ?? unsigned }

    private var unsigned: PropertyListValue? { UInt64(exactly: self).map(PropertyListValue.unsigned) }
}

extension FixedWidthInteger {
    /// Creates the number if the value is stored as a number, has no fraction, and fits.
    init?(wholeNumber value: PropertyListValue) {
        switch value {
        case .integer(let number): self.init(exactly: number)
        case .unsigned(let number): self.init(exactly: number)
        case .real(let number): self.init(exactly: number)
        case .real32(let number): self.init(exactly: number)
        default: return nil
        }
    }
}

extension Int: DefaultsValue {}
extension Int8: DefaultsValue {}
extension Int16: DefaultsValue {}
extension Int32: DefaultsValue {}
extension Int64: DefaultsValue {}
extension UInt: DefaultsValue {}
extension UInt8: DefaultsValue {}
extension UInt16: DefaultsValue {}
extension UInt32: DefaultsValue {}
extension UInt64: DefaultsValue {}

extension Double: DefaultsValue {
    /// Creates the real nearest to a number, or to a string that is entirely a number (including "nan" and "inf"); a
    /// Boolean is 1 or 0.
    public init?(propertyListValue: PropertyListValue) {
        switch propertyListValue {
        case .string(let text): self.init(decimal: text)
        case .boolean(let flag): self = flag ? 1 : 0
        default: self.init(number: propertyListValue)
        }
    }

    /// A 64-bit real.
    public var propertyListValue: PropertyListValue? { .real(self) }
}

extension Float: DefaultsValue {
    /// Creates the real nearest to a number in the range of `Float`, or to a string that is entirely such a number; a
    /// Boolean is 1 or 0.
    public init?(propertyListValue: PropertyListValue) {
        switch propertyListValue {
        case .string(let text): self.init(decimal: text)
        case .boolean(let flag): self = flag ? 1 : 0
        default: self.init(number: propertyListValue)
        }
    }

    /// A 32-bit real; XML files store its shortest text, which reads back as the same number.
    public var propertyListValue: PropertyListValue? { .real32(self) }
}

extension BinaryFloatingPoint {
    /// Creates the nearest real if the value is stored as a number; `nil` if a finite number would become infinite.
    init?(number value: PropertyListValue) {
        switch value {
        case .integer(let number): self.init(number)
        case .unsigned(let number): self.init(number)
        case .real(let number):
            self.init(number)
            if isInfinite, number.isFinite { return nil }
        case .real32(let number): self.init(number)
        default: return nil
        }
    }
}

extension LosslessStringConvertible where Self: BinaryFloatingPoint {
    /// Creates the number from text that is entirely a decimal number, ignoring surrounding whitespace.
    fileprivate init?(decimal text: String) {
        let text = text.withoutSurroundingSpace
        guard !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "x") }) else { return nil }
        self.init(text)
    }
}

extension Bool: DefaultsValue {
    /// Creates a Boolean from a Boolean, a number or a string.
    ///
    /// A number is true unless it is 0. A string may be "yes", "true", "y" or "t", or "no", "false", "n" or "f", in any
    /// case, or a number.
    public init?(propertyListValue: PropertyListValue) {
        switch propertyListValue {
        case .boolean(let flag): self = flag
        case .integer, .unsigned, .real, .real32: self = propertyListValue.coercedBool
        case .string(let text):
            switch text.withoutSurroundingSpace.lowercased() {
            case "yes", "true", "y", "t": self = true
            case "no", "false", "n", "f": self = false
            default:
                guard let number = Double(propertyListValue: propertyListValue) else { return nil }
                self = number != 0
            }
        default: return nil
        }
    }

    /// A Boolean, which never equals a number.
    public var propertyListValue: PropertyListValue? { .boolean(self) }
}
