public import DefaultsKit
public import Foundation
public import PropertyList

extension Decimal: DefaultsValue {
    /// The number, to the digit as it is written: from a number, or from a string that is one as a whole.
    public init?(propertyListValue: PropertyListValue) {
        switch propertyListValue {
        case .integer(let number): self.init(number)
        case .unsigned(let number): self.init(number)
        case .real(let number): self.init(written: "\(number)")
        case .real32(let number): self.init(written: "\(number)")
        case .boolean(let flag): self.init(flag ? 1 : 0)
        case .string(let text): self.init(written: text.trimmingCharacters(in: .whitespacesAndNewlines))
        default: return nil
        }
    }

    /// A whole number where it is one, else a real where its shortest text is this number, else a string of all digits.
    ///
    /// So nothing is lost, and what others can read as a number is one.
    public var propertyListValue: PropertyListValue? {
        let text = description
        if let number = Int64(text) { return .integer(number) }
        if let number = UInt64(text) { return .unsigned(number) }
        if let real = Double(text), Decimal(written: "\(real)") == self { return .real(real) }
        return .string(text)
    }

    /// The number that a text is as a whole; Foundation reads as far as it can.
    private init?(written text: String) {
        if text.lowercased() == "nan" {
            self = .nan
            return
        }
        guard Double(text)?.isFinite == true, !text.lowercased().contains("x"), let number = Decimal(string: text)
        else { return nil }
        self = number
    }
}
