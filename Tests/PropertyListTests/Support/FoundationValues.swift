import Foundation
import PropertyList

extension PropertyListValue {
    /// The value as an object of Foundation's classes.
    var foundationObject: Any {
        switch self {
        case .string(let string): NSString(string: string)
        case .integer(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .real32(let number): NSNumber(value: number)
        case .boolean(let flag): NSNumber(value: flag)
        case .date(let date): NSDate(timeIntervalSinceReferenceDate: date.secondsSinceReferenceDate)
        case .data(let bytes): NSData(data: Data(bytes))
        case .array(let values): NSArray(array: values.map(\.foundationObject))
        case .dictionary(let values): NSDictionary(dictionary: values.mapValues(\.foundationObject))
        case .uid(let number): ["CF$UID": NSNumber(value: number)]
        }
    }

    /// Converts an object that Foundation has read; fails if a property list can't contain it.
    init?(foundationObject object: Any) {
        switch object {
        case let flag as Bool where type(of: object) == Bool.self: self = .boolean(flag)
        case let number as NSNumber where !(object is String):
            switch String(cString: number.objCType) {
            case "d": self = .real(number.doubleValue)
            case "f": self = .real32(number.floatValue)
            case "c" where type(of: object) == Bool.self: self = .boolean(number.boolValue)
            case "Q": self = .number(number.uint64Value)
            default:
                self = number.stringValue.first == "-" ? .integer(number.int64Value) : .number(number.uint64Value)
            }
        case let string as String: self = .string(string)
        case let date as Date:
            self = .date(PropertyListDate(secondsSinceReferenceDate: date.timeIntervalSinceReferenceDate))
        case let data as Data: self = .data([UInt8](data))
        case let array as [Any]:
            let values = array.compactMap(PropertyListValue.init(foundationObject:))
            guard values.count == array.count else { return nil }
            self = .array(values)
        case let dictionary as [String: Any]:
            let values = dictionary.compactMapValues(PropertyListValue.init(foundationObject:))
            guard values.count == dictionary.count else { return nil }
            self = .dictionary(values)
        default: return nil
        }
    }
}

/// Reads a document with Foundation; returns `nil` if Foundation refuses it.
func readByFoundation(_ bytes: [UInt8]) -> PropertyListValue? {
    guard let object = try? PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: nil) else {
        return nil
    }
    return PropertyListValue(foundationObject: object)
}

/// Writes a value with Foundation.
func writtenByFoundation(
    _ value: PropertyListValue, _ format: PropertyListSerialization.PropertyListFormat
) throws -> [UInt8] {
    [UInt8](try PropertyListSerialization.data(fromPropertyList: value.foundationObject, format: format, options: 0))
}

extension PropertyListValue {
    /// The value with each 32-bit real widened, for oracles that have only one width.
    var widened: PropertyListValue {
        switch self {
        case .real32(let number): .real(Double(number))
        case .array(let values): .array(values.map(\.widened))
        case .dictionary(let values): .dictionary(values.mapValues(\.widened))
        default: self
        }
    }
}
