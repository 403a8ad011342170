import Foundation
import PropertyList

extension PropertyListValue {
    /// A plain value of an archive as an object of Foundation's; nil for one that is made of others.
    var foundationScalar: NSObject? {
        switch self {
        case .string(let text): NSString(string: text)
        case .integer(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .real32(let number): NSNumber(value: number)
        case .boolean(let flag): NSNumber(value: flag)
        case .data(let bytes): NSData(data: Data(bytes))
        case .date(let date): NSDate(secondsSinceReferenceDate: date.secondsSinceReferenceDate)
        case .array, .dictionary, .uid: nil
        }
    }

    /// A number, towards zero; nil for what isn't one, or doesn't fit.
    func integer<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        switch self {
        case .integer(let number): Number(exactly: number)
        case .unsigned(let number): Number(exactly: number)
        case .boolean(let flag): flag ? 1 : 0
        default: double.flatMap { Number(exactly: $0.rounded(.towardZero)) }
        }
    }

    /// A number as a real; nil for what isn't one.
    var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .real(let number): number
        case .real32(let number): Double(number)
        default: nil
        }
    }
}

extension NSDate {
    /// A date; nil for what is no number, which can't be shown without ending the process.
    convenience init?(secondsSinceReferenceDate seconds: Double) {
        guard seconds.isFinite else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds)
    }
}
