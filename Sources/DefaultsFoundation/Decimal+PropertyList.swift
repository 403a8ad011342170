public import DefaultsKit
public import Foundation
public import PropertyList

extension Decimal: DefaultsValue {
    /// Creates a decimal with the exact digits of a number, or of a string that consists of a number.
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

    /// An integer if the number is one, otherwise a real if its shortest text is exact, otherwise a string of all
    /// digits.
    ///
    /// No digit is lost, and everything that other programs can read as a number is stored as one.
    public var propertyListValue: PropertyListValue? {
        let text = description
        if let number = Int64(text) { return .integer(number) }
        if let number = UInt64(text) { return .unsigned(number) }
        if let real = Double(text), Decimal(written: "\(real)") == self { return .real(real) }
        return .string(text)
    }

    /// Parses text that consists of a number; Foundation would also accept text that merely begins with one.
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
