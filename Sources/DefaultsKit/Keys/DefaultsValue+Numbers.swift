public import PropertyList

/// Whole numbers of every width; they are `Codable`, but need no encoder.
extension DefaultsValue where Self: FixedWidthInteger & Codable {
    /// The number, if it fits: from a whole number, a real without a fraction, a string that is a number, or a Boolean.
    public init?(propertyListValue: PropertyListValue) {
        switch propertyListValue {
        case .string(let text): self.init(text.withoutSurroundingSpace)
        case .boolean(let flag): self = flag ? 1 : 0
        default: self.init(wholeNumber: propertyListValue)
        }
    }

    /// A whole number; one that a property list can't hold has more than 64 bits.
    public var propertyListValue: PropertyListValue? { Int64(exactly: self).map(PropertyListValue.integer) ?? unsigned }

    private var unsigned: PropertyListValue? { UInt64(exactly: self).map(PropertyListValue.unsigned) }
}

extension FixedWidthInteger {
    /// The number, if it is stored as one, has no fraction and fits.
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
    /// The nearest real to any number, to a string that is one as a whole ("nan" and "inf" included), or 1 for true.
    public init?(propertyListValue: PropertyListValue) {
        switch propertyListValue {
        case .string(let text): self.init(decimal: text)
        case .boolean(let flag): self = flag ? 1 : 0
        default: self.init(number: propertyListValue)
        }
    }

    /// A real of 64 bits.
    public var propertyListValue: PropertyListValue? { .real(self) }
}

extension Float: DefaultsValue {
    /// The nearest real to any number that isn't beyond `Float`, to a string that is one as a whole, or 1 for true.
    public init?(propertyListValue: PropertyListValue) {
        switch propertyListValue {
        case .string(let text): self.init(decimal: text)
        case .boolean(let flag): self = flag ? 1 : 0
        default: self.init(number: propertyListValue)
        }
    }

    /// A real of 32 bits; XML keeps its shortest text, which reads back as the same.
    public var propertyListValue: PropertyListValue? { .real32(self) }
}

extension BinaryFloatingPoint {
    /// The nearest real, if the value is stored as a number; nil when a finite one would become infinite.
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
    /// The number that a text is as a whole, white space around it aside, if it is decimal.
    fileprivate init?(decimal text: String) {
        let text = text.withoutSurroundingSpace
        guard !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "x") }) else { return nil }
        self.init(text)
    }
}

extension Bool: DefaultsValue {
    /// The Boolean: of a number, whether it isn't zero; of a string, what "yes", "true", "y", "t", "1" or "no", "false",
    /// "n", "f", "0" say in any case, or what the number says that it is.
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

    /// A Boolean, which no number equals.
    public var propertyListValue: PropertyListValue? { .boolean(self) }
}
